#include "interrupt.h"
#include "program.h"

int main(int argc, char** argv) {
  lockstep::install_signal_handlers();
  return lockstep::run_program(argc, argv, stdout);
}
