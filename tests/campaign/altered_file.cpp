#include "campaign/altered_file.h"

namespace lockstep::campaign {

std::string with_record(std::string_view file, const FileFields& fields, std::string_view record) {
  std::string out(file.substr(0, fields.keys_end));
  uint64_t n_keys;
  std::memcpy(&n_keys, &out[kKeyCountAt], sizeof(n_keys));
  ++n_keys;
  std::memcpy(&out[kKeyCountAt], &n_keys, sizeof(n_keys));
  out += record;
  out += file.substr(fields.keys_end, fields.data_start - fields.keys_end);
  out.resize((out.size() + fields.alignment - 1) / fields.alignment * fields.alignment);
  out += file.substr(fields.data_start);
  return out;
}

std::string without_key(std::string_view file, const FileFields& fields, std::string_view name) {
  std::string out(file);
  for (const Key& key : fields.keys) {
    if (key.name == name) out[key.at] = '_';
  }
  return out;
}

}  // namespace lockstep::campaign
