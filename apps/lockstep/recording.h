// An answer that `complete --json` gave, read back: what was asked, what came, and the receipt of how. Every field is
// checked; a recording comes from a file that anybody may have written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/generate.h"
#include "json_text.h"

namespace lockstep {

// The part of a receipt that decides bits and does not come with the request.
struct RecordedModel {
  std::string tree_hash;
  std::string isa;
  std::string compute;  // "fast" or "exact"
  std::string kv_type;  // "f16", "f32" or "q8_0"
  int64_t ctx = 0;
  std::string rope_set;  // as JSON
  std::string version;
};

struct Recording {
  std::vector<tokenizer::TokenId> prompt;
  std::vector<tokenizer::TokenId> ids;
  Json steps;  // of --logprobs; null without
  engine::GenerateOptions options;
  RecordedModel model;
  // The answer was ended by what is no token (a stop string, the user): the same request may give more.
  bool is_cut = false;
};

// Error kBadRequest naming the field, for one that is missing, of another type or out of range, and for samplers that
// this version does not have.
[[nodiscard]] Recording parse_recording(const Json& answer);

// RecordedModel of a receipt, whose other fields are not looked at.
[[nodiscard]] RecordedModel recorded_model(const Json& receipt);

// Why two answers to one request may differ, as texts for people: what their receipts do not share. Not the kernel set,
// which must not matter.
[[nodiscard]] std::vector<std::string> differences(const RecordedModel& recorded, const RecordedModel& here);

}  // namespace lockstep
