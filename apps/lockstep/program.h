// The program as a function: a command line in, an exit status out.
#pragma once

#include <cstdio>

namespace lockstep {

int run_program(int argc, const char* const* argv, std::FILE* out);

}  // namespace lockstep
