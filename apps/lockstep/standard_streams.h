// Standard input, output and error of a program that was started without one of them (a shell's 2>&-).
#pragma once

namespace lockstep {

// Takes the places of those that are closed, so that no file opened later gets such a number and with it what is meant
// for the stream. As on a closed one, reading has ended and writing fails. Once, before anything is opened.
void occupy_closed_streams() noexcept;

}  // namespace lockstep
