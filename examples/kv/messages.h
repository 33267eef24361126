// What clients and the server say to each other over TCP: plain structs, in this machine's byte order.
#pragma once

#include <cstdint>

#include "common/card.h"

namespace kv {

inline constexpr std::uint32_t kMagic = 0x4B56'0001;  // the version

enum class Ask : std::uint32_t { table, connect, get, put };

// A PUT's value follows.
struct Question {
  std::uint32_t magic = kMagic;
  Ask ask{};
  std::uint64_t key = 0;
  std::uint32_t bytes = 0;     // of the value
  std::uint32_t by_calls = 0;  // connect: the client calls kernels there
  examples::Endpoint endpoint{};
  std::uint64_t wants_to_deploy = 0;  // connect: a kernel of its own
};

struct Answer {
  std::uint32_t is_done = 0;  // 0: no
  std::uint32_t bytes = 0;    // of the object, which follows: GET alone
  // What clients need to read the table by themselves.
  std::uint64_t entries_at = 0, entry_mask = 0;
  std::uint32_t rkey = 0, most_object = 0;
  // The queue pair that the client is connected with.
  examples::Endpoint endpoint{};
  // The op-code that the client may deploy a kernel for, and what it needs for that; 0: it may not.
  std::uint64_t opcode = 0;
  weft_deployment_key key{};
};

}  // namespace kv
