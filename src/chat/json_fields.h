// Objects of many fields. An ordered_json object searches all its fields at each insertion and erasure, so that n of
// them cost n^2 steps, and whoever writes a message or a file decides on n: these cost what the fields cost. Pure
// functions; an object of JsonFields is for one thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::chat {

// An object in the making. Whoever adds sees to it that no name comes twice.
class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  void add(std::string name, Json value) { fields_.emplace_back(std::move(name), std::move(value)); }

  // The object with what was added, in that order. Once.
  [[nodiscard]] Json take();

 private:
  std::vector<std::pair<std::string, Json>> fields_;
};

// `object` with the fields of the object `changes` put in: those that are there keep their places, new ones follow.
[[nodiscard]] nlohmann::ordered_json updated(nlohmann::ordered_json object, const nlohmann::ordered_json& changes);

// `object` without the fields that the object `names` has.
[[nodiscard]] nlohmann::ordered_json without(nlohmann::ordered_json object, const nlohmann::ordered_json& names);

}  // namespace lockstep::chat
