#include <gtest/gtest.h>

#include "base/error.h"
#include "verify/reference.h"

namespace lockstep::verify {
namespace {

const std::string kHeader = R"({"prompt":"a","ids":[3,4],"kv":"f32"})";
const std::string kEntry =
    R"({"name":"embd","op":"GET_ROWS","type":"f32","ne":[4,2,1,1],"sum":1.5,"sumsq":2,"min":0,"max":1,)"
    R"("first":[1,2,3,4],"last":[5,6,7,8]})";

Reference parse(const std::string& text) {
  return parse_trace(text, "file");
}

// The one entry of a trace with `line` in it.
ReferenceEntry entry(const std::string& line) {
  const Reference reference = parse(kHeader + "\n" + line + "\n");
  EXPECT_EQ(reference.entries.size(), 1u);
  return reference.entries.front();
}

std::string with(const std::string& from, const std::string& to) {
  std::string line = kEntry;
  const size_t at = line.find(from);
  EXPECT_NE(at, line.npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(TraceReader, ReadsHeaderAndEntries) {
  const Reference reference = parse(kHeader + "\n\n" + kEntry + "\r\n");
  EXPECT_EQ(reference.prompt, "a");
  EXPECT_EQ(reference.ids, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(reference.kv_type, "f32");
  EXPECT_EQ(reference.compute, "");
  EXPECT_EQ(reference.n_tokens(), 2);
  ASSERT_EQ(reference.entries.size(), 1u);
  const ReferenceEntry& embd = reference.entries.front();
  EXPECT_EQ(embd.unreadable, "");
  EXPECT_EQ(embd.name, "embd");
  EXPECT_EQ(embd.op, "GET_ROWS");
  EXPECT_EQ(embd.ne, (std::array<int64_t, 4>{4, 2, 1, 1}));
  EXPECT_EQ(embd.sum, 1.5);
  EXPECT_EQ(embd.line, 3);
  ASSERT_EQ(embd.values.size(), 8u);
  EXPECT_EQ(embd.values[4].index, 4);
  EXPECT_EQ(embd.values[4].value, 5);
  EXPECT_EQ(embd.values[4].half_digit, 0);
}

TEST(TraceReader, RefusesAFileWithoutAUsableHeader) {
  for (const std::string header :
       {R"({"prompt":"a"})", R"({"ids":[]})", R"({"ids":[1.5]})", R"({"ids":[-1]})", R"({"ids":[4294967296]})",
        R"({"ids":"1"})", R"({"ids":[1],"kv":"f64"})", R"({"ids":[1],"compute":1})", R"({"ids":[1)", R"([1])", "{}"}) {
    EXPECT_THROW(static_cast<void>(parse(header + "\n" + kEntry)), Error) << header;
  }
}

TEST(TraceReader, KeepsThePlaceOfWhatItCannotReadAndSaysWhy) {
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {kEntry.substr(0, kEntry.size() - 9), "cut"},
           {"[1]", "object"},
           {R"({"op":"MUL"})", "no name"},
           {with(R"("embd")", "7"), "name"},
           {with(R"("embd")", '"' + std::string(300, 'a') + '"'), "name"},
           {with("1.5", "null"), "sum"},
           {with("1.5", R"("1.5")"), "sum"},
           {with("1.5", "NaN"), "JSON"},
           {with("1.5", "1e999"), "JSON"},
           {with(R"("sum":1.5,)", ""), "no sum"},
           {with("[4,2,1,1]", "[4,2,1,1,1]"), "ne"},
           {with("[4,2,1,1]", "[4,-2,1,1]"), "ne"},
           {with("[4,2,1,1]", "[4,0,1,1]"), "ne"},
           {with("[4,2,1,1]", "[4,2.5,1,1]"), "ne"},
           {with("[4,2,1,1]", "[9223372036854775807,9223372036854775807,1,1]"), "ne"},
           {with("[4,2,1,1]", "[18446744073709551615,1,1,1]"), "ne"},
           {with("[1,2,3,4]", "[1,2,3]"), "first"},
           {with("[1,2,3,4]", "[1,2,3,4,5]"), "first"},
           {with("[5,6,7,8]", "[5,6,7,null]"), "last"},
           {with("[5,6,7,8]", std::string(50, '[') + std::string(50, ']')), "deep"},
           {std::string(100'000, '['), "deep"},
       }) {
    const ReferenceEntry read = entry(line);
    EXPECT_NE(read.unreadable.find(why), std::string::npos) << line.substr(0, 200) << ": " << read.unreadable;
  }
}

TEST(TraceReader, ReadsTensorsOfFewElements) {
  const ReferenceEntry read = entry(R"({"name":"a","op":"b","ne":[2],"sum":1,"first":[1,2],"last":[1,2]})");
  EXPECT_EQ(read.unreadable, "");
  EXPECT_EQ(read.ne, (std::array<int64_t, 4>{2, 1, 1, 1}));
  EXPECT_EQ(read.values.size(), 4u);
}

}  // namespace
}  // namespace lockstep::verify
