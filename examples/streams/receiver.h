// The receiver: memory, and kernels that its card has. Its program only waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/tcp.h"

namespace streams {

// A kernel of its own: it takes a stream and does nothing, which shows what the way there costs.
inline constexpr std::uint64_t kDropped = 0xD209;

// Its memory: a table of partitions, and the partitions. WRITEs go to those.
inline constexpr std::size_t kPartitions = 1024, kPartitionBytes = 64 << 10;
inline constexpr std::size_t kReceiverBytes = (kPartitions + 1) * kPartitionBytes;

// Until the sender is gone.
void receive(const examples::Socket& sender);

}  // namespace streams
