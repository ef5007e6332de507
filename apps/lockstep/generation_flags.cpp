#include "generation_flags.h"

#include <limits>

#include "usage.h"

namespace lockstep {
namespace {

// "-n,--n-predict,--predict": one letter is a short name. The first long name comes first in the help.
std::string flag_names(const GenerationOption& option) {
  std::string text;
  for (const std::string& name : option.names) {
    if (!text.empty()) text += ',';
    text += name.size() == 1 ? "-" : "--";
    text += name;
  }
  return text;
}

void add_flag(CLI::App& command, GenerationFlags::Slot& slot) {
  const GenerationOption& option = *slot.option;
  if (option.is_flag()) {
    slot.flag = command.add_flag(flag_names(option), slot.set, option.help);
    return;
  }
  slot.flag =
      command.add_option(flag_names(option), slot.texts, option.help)
          ->type_name(option.value)
          ->default_str(option.default_text)
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(option.is_list() ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
}

GenerationSettings parse_flags(const GenerationFlags& flags) {
  GenerationSettings settings;
  for (const GenerationFlags::Slot& slot : flags.slots) {
    if (slot.flag->count() > 0) set_from_text(settings, *slot.option, slot.texts);
  }
  // No vocabulary is known yet; the ids are held against it when a request is served.
  sampling::validate(settings.generate.sampling, std::numeric_limits<int32_t>::max());
  return settings;
}

}  // namespace

void add_generation_flags(CLI::App& command, GenerationFlags& flags) {
  for (const GenerationOption& option : generation_options()) flags.slots.push_back({&option, nullptr, {}, false});
  for (GenerationFlags::Slot& slot : flags.slots) add_flag(command, slot);
}

GenerationSettings generation_settings(const GenerationFlags& flags) {
  return as_usage([&] { return parse_flags(flags); });
}

}  // namespace lockstep
