// Memory that ends where nothing may be thrown: destructors of the JSON library take some, and the command line
// library's search for a command. The language then ends the program by a signal; it should end as after every other
// error, with a message and a status.
#pragma once

namespace lockstep {

// Once per program.
void install_out_of_memory_handler();

}  // namespace lockstep
