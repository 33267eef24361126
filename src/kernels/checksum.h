// The CRC-64 of a stream (ECMA-182, reflected), which may be kept as it passes.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace weft::kernels {

inline constexpr std::uint64_t kChecksum = 0x4368'6563'6B73'756D;  // "Checksum"

struct ChecksumCall {
  StreamAsk ask{};
  std::uint32_t unused = 0;
  Outlet stream{};  // begin: where the stream goes as it passes; address 0: nowhere
};
static_assert(sizeof(ChecksumCall) == 40);

struct ChecksumAnswer {
  std::uint64_t checksum = 0;  // of all bytes so far
  std::uint64_t bytes = 0;
};

// A call that begins answers nothing. The stream fails if there is no room to keep it.
[[nodiscard]] nic::Kernel checksum_stream(std::uint32_t instances = 64);

}  // namespace weft::kernels
