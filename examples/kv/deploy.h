// Deploys a client's own kernel on the server's card.
#pragma once

#include <cstdint>
#include <string>

#include "remote_table.h"

namespace kv {

// By the first client's queue pair. The op-code that it has then; the program ends with a sentence if the server's card
// refuses it.
[[nodiscard]] std::uint64_t deploy(RemoteTable& table, const std::string& object_file);

}  // namespace kv
