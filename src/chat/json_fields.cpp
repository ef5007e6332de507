#include "chat/json_fields.h"

#include <string_view>
#include <unordered_map>

#include "base/keyed_hash.h"

namespace lockstep::chat {
namespace {

using Json = nlohmann::ordered_json;
using Object = Json::object_t;

// The fields of an object, to be found by name. The object must outlive it.
using FieldIndex = std::unordered_map<std::string_view, const Json*, TextHash>;

FieldIndex index_of(const Json& object) {
  FieldIndex index;
  for (const auto& [name, value] : object.get_ref<const Object&>()) index.emplace(name, &value);
  return index;
}

}  // namespace

Json JsonFields::take() {
  Json result = Json::object();
  Object::Container& fields = result.get_ref<Object&>();  // the vector below the object: it does not search
  fields.reserve(fields_.size());
  for (auto& [name, value] : fields_) fields.emplace_back(std::move(name), std::move(value));
  fields_.clear();
  return result;
}

Json updated(Json object, const Json& changes) {
  if (changes.empty()) return object;
  FieldIndex wanted = index_of(changes);
  JsonFields result;
  for (auto& [name, value] : object.get_ref<Object&>()) {
    const auto change = wanted.find(name);
    if (change == wanted.end()) {
      result.add(name, std::move(value));
    } else {
      result.add(name, *change->second);
      wanted.erase(change);
    }
  }
  for (const auto& [name, value] : changes.get_ref<const Object&>()) {
    if (wanted.contains(name)) result.add(name, value);
  }
  return result.take();
}

Json without(Json object, const Json& names) {
  if (names.empty()) return object;
  const FieldIndex unwanted = index_of(names);
  JsonFields result;
  for (auto& [name, value] : object.get_ref<Object&>()) {
    if (!unwanted.contains(name)) result.add(name, std::move(value));
  }
  return result.take();
}

}  // namespace lockstep::chat
