#include "interrupt.h"
#include "out_of_memory.h"
#include "program.h"
#include "standard_streams.h"

int main(int argc, char** argv) {
  lockstep::occupy_closed_streams();
  lockstep::install_signal_handlers();
  lockstep::install_out_of_memory_handler();
  return lockstep::run_program(argc, argv, stdout);
}
