#include "tokenizer/pretokenizer_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

// Patterns are those of the families' tokenizer.json, with three kinds of change that leave every match as it is:
// - (?i:'s|...) is spelled out, for ASCII letters only: with full case folding U+017F would count as an s, which
// llama.cpp
//   does not do either;
// - (?=...) counting of digits in threes is the rule kind kGroupsOfThree;
// - where a pattern would look through the same run of white space again and again, a look-behind keeps it from that.
// Pieces that a pattern leaves over are pieces too, so a published "|\s+" at the end may be absent.
// Characters outside ASCII are written \x{...}. Where a family's own file splits by Digits or Punctuation, the
// equivalent pattern stands here.

namespace lockstep::tokenizer {
namespace {

using enum SplitRule::Kind;

#define LOCKSTEP_CONTRACTIONS R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
#define LOCKSTEP_NEWLINES_AND_SPACES R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define LOCKSTEP_WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define LOCKSTEP_SYMBOLS R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)"

// Words whose case changes inside: capitals then small letters, or capitals with small letters possibly after them.
#define LOCKSTEP_BIG R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOCKSTEP_SMALL R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define LOCKSTEP_CASED_WORDS(end)                                                                       \
  R"([^\r\n\p{L}\p{N}]?)" LOCKSTEP_BIG "*" LOCKSTEP_SMALL "+" end R"(|[^\r\n\p{L}\p{N}]?)" LOCKSTEP_BIG \
  "+" LOCKSTEP_SMALL "*" end

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    LOCKSTEP_CONTRACTIONS "|" LOCKSTEP_WORD R"(|\p{N})" LOCKSTEP_SYMBOLS LOCKSTEP_NEWLINES_AND_SPACES;
constexpr std::string_view kLlama3Pattern =
    LOCKSTEP_CONTRACTIONS "|" LOCKSTEP_WORD R"(|\p{N}{1,3})" LOCKSTEP_SYMBOLS LOCKSTEP_NEWLINES_AND_SPACES;
constexpr std::string_view kGpt4oPattern = LOCKSTEP_CASED_WORDS(
    LOCKSTEP_CONTRACTIONS "?") R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" LOCKSTEP_NEWLINES_AND_SPACES;
constexpr std::string_view kDeepseek3Words =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)re" LOCKSTEP_NEWLINES_AND_SPACES;
constexpr std::string_view kBloomPattern =
    R"re( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)re";
constexpr std::string_view kHanAndKana = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
constexpr std::string_view kDeepseekAsian = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";

constexpr SplitRule kGpt2[] = {{kGpt2Pattern}};
constexpr SplitRule kGpt2SingleDigits[] = {{R"(\p{N})"}, {kGpt2Pattern}};
constexpr SplitRule kQwen2[] = {{kQwen2Pattern}};
constexpr SplitRule kLlama3[] = {{kLlama3Pattern}};
constexpr SplitRule kGpt4o[] = {{kGpt4oPattern}};
constexpr SplitRule kNewlines[] = {{R"([^\n]+|[\n]+)"}};
constexpr SplitRule kBloom[] = {{kBloomPattern}};
constexpr SplitRule kViking[] = {{kBloomPattern}, {R"(\p{N})"}};
constexpr SplitRule kDeepseek3[] = {{R"(\p{N}{1,3})"}, {kHanAndKana}, {kDeepseek3Words}};
constexpr SplitRule kDeepseekCoder[] = {
    {R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {kDeepseekAsian}, {R"(\p{N})"}};
constexpr SplitRule kTekken[] = {
    {LOCKSTEP_CASED_WORDS("") R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" LOCKSTEP_NEWLINES_AND_SPACES}};
constexpr SplitRule kLaguna[] = {{R"([^\n]+|[\n]+)"}, {kQwen2Pattern}};
constexpr SplitRule kUfakzeka[] = {{LOCKSTEP_WORD R"(|\p{N})" LOCKSTEP_SYMBOLS LOCKSTEP_NEWLINES_AND_SPACES}};
constexpr SplitRule kWhitespace[] = {{R"(\S+)"}};
constexpr SplitRule kSuperbpe[] = {{R"(\p{N}+)"}, {R"(\p{Nd}+)", kGroupsOfThree}};
constexpr SplitRule kQwen35[] = {{LOCKSTEP_CONTRACTIONS
                                  R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
                                  R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" LOCKSTEP_NEWLINES_AND_SPACES}};
constexpr SplitRule kMinicpm5[] = {
    {R"(\p{N}{1,3})"},
    {LOCKSTEP_CONTRACTIONS "|" LOCKSTEP_WORD R"(|\p{N}+)" LOCKSTEP_SYMBOLS LOCKSTEP_NEWLINES_AND_SPACES}};
constexpr SplitRule kSeedCoder[] = {
    {LOCKSTEP_CONTRACTIONS "|" LOCKSTEP_WORD R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)" LOCKSTEP_NEWLINES_AND_SPACES}};
// ?+ and ++ are possessive here as published.
constexpr SplitRule kBailingMoe[] = {{R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N})"
                                      R"(| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}};
// Possessive: nothing follows that could make it give back, and so it keeps no frame per letter.
constexpr SplitRule kExaoneMoe[] = {{LOCKSTEP_CONTRACTIONS
                                     R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++)"
                                     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}};
// The runs of 512, 256, ... spaces end inside a run of white space; when such a run held a newline, the pattern for
// newlines had taken it from its begin, so after such an end it need not be tried.
constexpr SplitRule kJais2[] = {
    {LOCKSTEP_CONTRACTIONS
     "|" LOCKSTEP_WORD R"(|\p{N}{1,3})" LOCKSTEP_SYMBOLS
     R"(|(?<![^\S\r\n])\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S))"
     R"(|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}};
constexpr SplitRule kSpark25[] = {
    {R"(\p{N}{1,3})"},
    {kHanAndKana},
    {R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n])re"
     R"(|\s+(?!\S)|\s+)"},
    {R"(\p{N})"}};
constexpr SplitRule kYoutu[] = {
    {R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b})"
     R"(\x{ff0c}\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)"},
    {LOCKSTEP_CASED_WORDS(LOCKSTEP_CONTRACTIONS
                          "?") R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" LOCKSTEP_NEWLINES_AND_SPACES}};
constexpr SplitRule kFalcon[] = {{R"([\p{P}\$\+<=>\^~\|`]+)"}, {kGpt2Pattern}, {"[0-9][0-9][0-9]"}};
constexpr SplitRule kDefault[] = {{R"([\p{P}\$\+<=>\^~\|]+)"}, {kGpt2Pattern}, {R"(\p{N}+)"}, {"[0-9][0-9][0-9]"}};
constexpr SplitRule kChameleon[] = {{"<sentinel:[0-9]+>"},       {"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"},
                                    {R"(([\t\n]|    |  ))"},     {R"(\p{N})"},
                                    {R"([\p{P}!-/:-@\[-`{-~])"}, {kGpt2Pattern}};
// The published rule groups digits only in a run that a word boundary ends.
constexpr SplitRule kTinyAya[] = {{R"((?<!\p{Nd})\p{Nd}++\b)", kGroupsOfThree}, {kGpt4oPattern}};
constexpr SplitRule kAfmoe[] = {
    {R"(\p{N}+)", kGroupsOfThree},
    {R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff}\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf})"
     R"(\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff}\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af})"
     R"(\x{1100}-\x{11ff}]+)"},
    {kDeepseek3Words}};
// [...&&[^\p{Han}]] has no PCRE2 spelling; the complement of everything else and Han is the same set.
#define LOCKSTEP_BIG_NOT_HAN R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define LOCKSTEP_SMALL_NOT_HAN R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
constexpr SplitRule kKimiK2[] = {{R"(\p{sc:Han}+|[^\r\n\p{L}\p{N}]?)" LOCKSTEP_BIG_NOT_HAN "*" LOCKSTEP_SMALL_NOT_HAN
                                  "+" LOCKSTEP_CONTRACTIONS R"(?|[^\r\n\p{L}\p{N}]?)" LOCKSTEP_BIG_NOT_HAN
                                  "+" LOCKSTEP_SMALL_NOT_HAN "*" LOCKSTEP_CONTRACTIONS
                                  R"(?|\p{N}{1,3})" LOCKSTEP_SYMBOLS LOCKSTEP_NEWLINES_AND_SPACES}};
// The list of cased letters that DeepSeek LLM publishes. White space is taken at the end of a line only: from its first
// character on, so that a run is looked through once.
constexpr SplitRule kDeepseekLlm[] = {
    {R"([\r\n])"},
    {R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
     R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
     R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
     R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a})"
     R"(\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b})"
     R"(\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc})"
     R"(\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107})"
     R"(\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134})"
     R"(\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4})"
     R"(\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787})"
     R"(\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a})"
     R"(\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2})"
     R"(\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)"},
    {R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)"},
    {R"((?<!\s)\s+$)"},
    {kDeepseekAsian},
    {R"(\p{N}+)"}};

constexpr TextCoding kSpelled = TextCoding::kSpelledSpaces;

// Sorted by name.
constexpr auto kTable = std::to_array<PretokenizerSpec>({
    {.name = "a.x-4.0", .rules = kGpt2},
    {.name = "afmoe", .rules = kAfmoe},
    {.name = "bailingmoe", .rules = kBailingMoe},
    {.name = "bailingmoe2", .rules = kBailingMoe},
    {.name = "bloom", .rules = kBloom},
    {.name = "chameleon", .rules = kChameleon, .add_bos = true},
    {.name = "chatglm-bpe", .rules = kLlama3},
    {.name = "codeshell", .rules = kGpt2SingleDigits},
    {.name = "cohere2moe", .rules = kTinyAya},
    {.name = "command-r", .rules = kGpt2SingleDigits},
    {.name = "dbrx", .rules = kLlama3},
    {.name = "deepseek-coder", .rules = kDeepseekCoder},
    {.name = "deepseek-llm", .rules = kDeepseekLlm},
    {.name = "deepseek-r1-qwen", .rules = kQwen2},
    {.name = "deepseek-v3", .rules = kDeepseek3},
    {.name = "default", .rules = kDefault},
    {.name = "exaone", .rules = kGpt2SingleDigits},
    {.name = "exaone-moe", .rules = kExaoneMoe},
    {.name = "exaone4", .rules = kGpt2},
    {.name = "f2llmv2", .rules = kQwen2},
    {.name = "falcon", .rules = kFalcon},
    {.name = "falcon-h1", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "falcon3", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "gemma4", .rules = kNewlines, .newline_runs_whole = true, .always_adds_bos = true, .coding = kSpelled},
    {.name = "gigachat", .rules = kGpt2},
    {.name = "glm4", .rules = kLlama3, .ignore_merges = true},
    {.name = "glm5", .rules = kLlama3, .ignore_merges = true},
    {.name = "gpt-2", .rules = kGpt2},
    {.name = "gpt-4o", .rules = kGpt4o},
    {.name = "gpt3-finnish", .rules = kBloom},
    {.name = "granite-docling", .rules = kGpt2},
    {.name = "granite-embed-multi-311m",
     .rules = kNewlines,
     .newline_runs_whole = true,
     .always_adds_bos = true,
     .coding = kSpelled},
    {.name = "granite-embed-multi-97m", .rules = kGpt4o, .ignore_merges = true},
    {.name = "grok-2", .rules = kQwen2},
    {.name = "hunyuan", .rules = kQwen2},
    {.name = "hunyuan-dense", .rules = kDeepseek3},
    {.name = "hy_v4", .rules = kDeepseek3},
    {.name = "jais", .rules = kGpt2},
    {.name = "jais-2", .rules = kJais2},
    {.name = "jina-de", .rules = kGpt2},
    {.name = "jina-es", .rules = kGpt2},
    {.name = "jina-v1-en", .rules = kGpt2},
    {.name = "jina-v2-code", .rules = kGpt2},
    {.name = "jina-v2-de", .rules = kGpt2},
    {.name = "jina-v2-es", .rules = kGpt2},
    {.name = "jina-v5-nano", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "joyai-llm", .rules = kDeepseek3},
    {.name = "kanana2", .rules = kGpt4o},
    {.name = "kimi-k2", .rules = kKimiK2},
    {.name = "kormo", .rules = kQwen2},
    {.name = "laguna", .rules = kLaguna},
    {.name = "lfm2", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llada-moe", .rules = kBailingMoe},
    {.name = "llama-bpe", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama4", .rules = kGpt4o},
    {.name = "megrez", .rules = kQwen2},
    {.name = "mellum", .rules = kGpt2},
    {.name = "mellum2", .rules = kGpt2SingleDigits},
    {.name = "midm-2.0", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "minerva-7b", .rules = kGpt2SingleDigits},
    {.name = "minicpm5", .rules = kMinicpm5, .ignore_merges = true},
    {.name = "minimax-m2", .rules = kGpt4o},
    {.name = "modern-bert", .rules = kGpt2},
    {.name = "mpt", .rules = kGpt2},
    {.name = "olmo", .rules = kGpt2},
    {.name = "phi-2", .rules = kGpt2},
    {.name = "pixtral", .rules = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "poro-chat", .rules = kBloom},
    {.name = "qwen2", .rules = kQwen2},
    {.name = "qwen35", .rules = kQwen35},
    {.name = "refact", .rules = kGpt2SingleDigits},
    {.name = "roberta-bpe", .rules = kGpt2},
    {.name = "sarvam-moe", .rules = kNewlines, .coding = kSpelled},
    {.name = "seed-coder", .rules = kSeedCoder},
    {.name = "smaug-bpe", .rules = kLlama3},
    {.name = "smollm", .rules = kGpt2SingleDigits},
    {.name = "solar-open", .rules = kQwen2},
    {.name = "spark2_5", .rules = kSpark25},
    {.name = "stablelm2", .rules = kQwen2},
    {.name = "starcoder", .rules = kGpt2SingleDigits},
    {.name = "superbpe", .rules = kSuperbpe},
    {.name = "talkie", .rules = kGpt4o},
    {.name = "tekken", .rules = kTekken, .ignore_merges = true, .add_bos = true},
    {.name = "tiny_aya", .rules = kTinyAya},
    {.name = "trillion", .rules = kGpt2},
    {.name = "ufakzeka", .rules = kUfakzeka},
    {.name = "viking", .rules = kViking},
    {.name = "whitespace", .rules = kWhitespace, .coding = TextCoding::kPlain},
    {.name = "youtu", .rules = kYoutu, .ignore_merges = true},
});

// Levenshtein distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_names(std::string_view name) {
  constexpr size_t kShown = 4;
  const std::string_view start = name.substr(0, 64);  // names are short; a hostile one must not cost time
  std::vector<std::pair<size_t, std::string_view>> ranked;
  for (const PretokenizerSpec& spec : kTable) ranked.emplace_back(edit_distance(start, spec.name), spec.name);
  std::sort(ranked.begin(), ranked.end());
  std::string list;
  for (size_t i = 0; i < kShown; ++i) list += (i == 0 ? "" : ", ") + std::string(ranked[i].second);
  return list;
}

}  // namespace

const PretokenizerSpec& pretokenizer_spec(std::string_view name) {
  const auto* found =
      std::find_if(kTable.begin(), kTable.end(), [name](const PretokenizerSpec& spec) { return spec.name == name; });
  if (found == kTable.end()) {
    fail(ErrorCode::kUnsupported, "tokenizer.ggml.pre is {}, which is not a known pre-tokenizer; the nearest are {}",
         printable(name), nearest_names(name));
  }
  return *found;
}

std::span<const PretokenizerSpec> all_pretokenizers() {
  return kTable;
}

}  // namespace lockstep::tokenizer
