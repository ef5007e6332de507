// For tests only: the program called as a script calls it, without a process of its own.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "program.h"

namespace lockstep {

struct ProgramCall {
  int status;
  std::string out;
};

inline ProgramCall call_program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "lockstep");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ProgramCall call = {run_program(static_cast<int>(argv.size()), argv.data(), file.get()), ""};
  std::rewind(file.get());
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) call.out += static_cast<char>(c);
  return call;
}

}  // namespace lockstep
