// bench, roofline and doctor as a script calls them: what comes out on standard output.
#include <gtest/gtest.h>

#include "base/file.h"
#include "forge/tiny_model.h"
#include "json_text.h"
#include "program_call_test.h"

namespace lockstep {
namespace {

std::string tiny_model() {
  const auto path = forge::test_file("tiny.gguf");
  forge::TinyModel(forge::tiny_quantized(forge::tiny_llama())).write(path);
  return path.string();
}

std::vector<std::string> names(const Json& entries) {
  std::vector<std::string> result;
  for (const Json& entry : entries) result.push_back(entry.at("test"));
  return result;
}

TEST(BenchCommand, GivesOneEntryForPrefillAlone) {
  const ProgramCall outcome =
      call_program({"bench", tiny_model(), "--json", "-r", "1", "-t", "2", "-p", "24", "-n", "0"});
  ASSERT_EQ(outcome.status, 0);
  const Json entries = parse_json(outcome.out);
  ASSERT_EQ(entries.size(), 1u);
  const Json& entry = entries[0];
  EXPECT_EQ(entry["test"], "pp24");
  EXPECT_EQ(entry["threads"], 2);
  EXPECT_EQ(entry["runs"], 1);
  EXPECT_EQ(entry["kv_type"], "f16");
  EXPECT_TRUE(entry["isa"].is_string());
  EXPECT_TRUE(entry["steady"].is_boolean());
  EXPECT_GT(entry["tps"]["median"], 0.0);
  EXPECT_EQ(entry["tps"]["median"], entry["tps"]["max"]);
  for (const char* field : {"gbps", "bandwidth_share", "mac_per_cycle", "clock_ghz"})
    EXPECT_GT(entry[field], 0.0) << field;
}

TEST(BenchCommand, GivesAnEntryForEachTestDepthAndBatchPrefillFirst) {
  const ProgramCall outcome = call_program({"bench", tiny_model(), "-o", "json", "-r", "1", "-t", "1", "-p", "8", "-n",
                                            "4", "-d", "16,0", "--batch", "1,3"});
  ASSERT_EQ(outcome.status, 0);
  const std::vector<std::string> wanted = {"pp8", "pp8@d16", "tg4", "tg4@b3", "tg4@d16", "tg4@d16@b3"};
  EXPECT_EQ(names(parse_json(outcome.out)), wanted);
}

TEST(BenchCommand, RefusesWhatDoesNotFit) {
  const std::string model = tiny_model();
  EXPECT_EQ(call_program({"bench", model, "--json", "-p", "0", "-n", "0"}).status, 2);
  EXPECT_EQ(call_program({"bench", model, "--json", "-p", "1,x"}).status, 2);
  EXPECT_EQ(call_program({"bench", model, "--json", "-p", "1,"}).status, 2);
  EXPECT_EQ(call_program({"bench", model, "--json", "--batch", "0"}).status, 2);
  EXPECT_EQ(call_program({"bench", model, "-o", "xml"}).status, 2);
  const ProgramCall too_long = call_program({"bench", model, "--json", "-p", "4000", "-n", "0", "-d", "97"});
  EXPECT_EQ(too_long.status, 1);
  EXPECT_EQ(parse_json(too_long.out)["error"]["code"], "bad_request");
  EXPECT_EQ(call_program({"bench", model, "--json", "-p", "0", "-n", "1", "--batch", "100"}).status, 1);
}

TEST(RooflineCommand, GivesLimitsAndFormats) {
  const std::string csv = forge::test_file("limits.csv").string();
  const ProgramCall outcome = call_program({"roofline", "--json", "--format", "Q4_0,F16", "-t", "2", "--csv", csv});
  ASSERT_EQ(outcome.status, 0);
  const Json json = parse_json(outcome.out);
  EXPECT_GT(json["read_gbps"]["1"], 0.0);
  EXPECT_GT(json["read_gbps"]["2"], 0.0);
  EXPECT_GT(json["int8_gmacs"]["scalar"], 0.0);
  EXPECT_GT(json["fp32_gmacs"]["scalar"], 0.0);
  // Two formats, one and two threads, each kernel set.
  ASSERT_GE(json["formats"].size(), 4u);
  EXPECT_EQ(json["formats"].size() % 4, 0u);
  for (const Json& format : json["formats"]) {
    EXPECT_TRUE(format["format"] == "Q4_0" || format["format"] == "F16");
    // Bytes and weights of the same time: 18 bytes for 32 weights, or 2 for one.
    const double bytes_per_weight = format["gbps"].get<double>() / format["gweights"].get<double>();
    EXPECT_NEAR(bytes_per_weight, format["format"] == "F16" ? 2.0 : 18.0 / 32, 1e-9);
    EXPECT_GT(format["bandwidth_share"], 0.0);
  }
  const std::string text = read_text_file(csv);
  const auto commas = std::ranges::count(text.substr(0, text.find('\n')), ',');
  EXPECT_EQ(std::ranges::count(text, ','), commas * std::ranges::count(text, '\n'));
}

TEST(RooflineCommand, RefusesUnknownFormatsAndSets) {
  EXPECT_EQ(call_program({"roofline", "--format", "Q4_0,Q9_9"}).status, 2);
  EXPECT_EQ(call_program({"roofline", "--isa", "mmx"}).status, 2);
}

TEST(DoctorCommand, ReportsTheMachineAndAPassedSelfTest) {
  const ProgramCall outcome = call_program({"doctor", tiny_model(), "--json"});
  ASSERT_EQ(outcome.status, 0);
  const Json json = parse_json(outcome.out);
  EXPECT_FALSE(json["cpu"].get<std::string>().empty());
  EXPECT_TRUE(json["features"].is_array());
  EXPECT_EQ(json["self_test"]["ok"], true);
  EXPECT_EQ(json["self_test"]["tables"].front()["isa"], json["isa"]);
  EXPECT_EQ(json["self_test"]["tables"].back()["isa"], "scalar");
  EXPECT_GE(json["threads"]["decode"], 1);
  EXPECT_GE(json["threads"]["prefill"], 1);
  EXPECT_EQ(json["huge_pages"]["wanted"], 8 << 20);
  EXPECT_GT(json["model"]["weights"], 0);
}

TEST(DoctorCommand, SaysWhyASetWasChosen) {
  const Json json = parse_json(call_program({"doctor", "--json", "--isa", "scalar"}).out);
  EXPECT_EQ(json["isa"], "scalar");
  EXPECT_EQ(json["why"], "asked for by --isa or LOCKSTEP_ISA");
  EXPECT_FALSE(json.contains("model"));
}

TEST(DoctorCommand, TakesTheSetFromTheEnvironmentUnlessAnOptionNamesOne) {
  ASSERT_EQ(setenv("LOCKSTEP_ISA", "scalar", 1), 0);
  EXPECT_EQ(parse_json(call_program({"doctor", "--json"}).out)["isa"], "scalar");
  EXPECT_NE(parse_json(call_program({"doctor", "--json", "--isa", "auto"}).out)["isa"], "scalar");
  ASSERT_EQ(setenv("LOCKSTEP_ISA", "mmx", 1), 0);
  EXPECT_EQ(call_program({"doctor"}).status, 2);
  ASSERT_EQ(unsetenv("LOCKSTEP_ISA"), 0);
}

}  // namespace
}  // namespace lockstep
