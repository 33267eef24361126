// Compare and update: a record of many words becomes another one if it begins as the caller expects. All of it in one
// step: no other call, WRITE or atomic of a peer comes in between. The server's own program is not kept out.
#pragma once

#include <cstdint>

#include "nic/kernels/kernel.h"

namespace weft::kernels {

inline constexpr std::uint64_t kUpdate = 0x5570'6461'7465;  // "Update"

// Behind it come `compared` bytes as they are expected, and `bytes` as they are to be.
struct UpdateCall {
  std::uint64_t address = 0;
  std::uint32_t compared = 0;  // of the record, from its begin: at most `bytes`
  std::uint32_t bytes = 0;
};

// Behind it come the `compared` bytes that were there before.
struct UpdateAnswer {
  std::uint32_t is_updated = 0;
  std::uint32_t bytes = 0;  // that follow
};

[[nodiscard]] nic::Kernel update(std::uint32_t instances = 64);

}  // namespace weft::kernels
