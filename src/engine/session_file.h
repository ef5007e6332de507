// A session on disk: its tokens and their keys and values, so that after a restart the next token comes without
// computing the prompt again, with the same bits. The file also carries a text of the caller's (a conversation).
//
// Layout, little-endian: the header (session_file.cpp), the text, the token ids, the blocks of the cache, and the XXH3
// 128-bit hash of all that. Errors name the file. Called from the engine's thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/session.h"

namespace lockstep::engine {

// Before anything is computed: an error when a session cannot be saved there. Leaves nothing.
void check_session_place(const std::filesystem::path& path);

// Replaces the session file as a whole, and no file of another kind (kBadFile); a failure (kIo) leaves the old one as
// it was. A new one is its owner's alone to read, one that was there keeps its mode.
void save_session(const std::filesystem::path& path, const Session& session, std::string_view text);

// Makes the file's timeline that of `session` and returns the text. Errors, after which the session is as it was:
// kBadFile for a file that is damaged or none of these; kUnsupported, naming what differs, for one of another model,
// version, KV type or compute mode. Of a timeline that is longer than the context the beginning is taken.
[[nodiscard]] std::string load_session(const std::filesystem::path& path, Session& session);

}  // namespace lockstep::engine
