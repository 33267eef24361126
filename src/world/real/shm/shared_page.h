// What programs on one host show each other in shared memory: each has a shared status, and two that have met have a
// channel of two rings. The other side is not trusted: what it writes is read once, checked, and can at worst lose
// packets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::real {

// One page per lane, written by everyone who sends to it.
struct SharedStatus {
  // The lane's thread is asleep, or about to be: whoever leaves something in a ring writes to its eventfd.
  alignas(64) std::atomic<std::uint32_t> asleep{0};
  // Packets of a message may come joined (wire/packet.h). Not to a lane that looks at each of them.
  std::atomic<std::uint32_t> takes_bursts{0};
  // The lane may mark packets that it sends as a congested switch would.
  std::atomic<std::uint32_t> marks{0};
  // Reliable queue pairs that the lane has: its broker tells those who ask.
  std::atomic<std::uint32_t> connections{0};
  // Room in the lane's UDP sockets, in bytes as the kernel counts them. A datagram that finds a socket's buffer full is
  // lost without a word; on one host that need not be: senders count what they send, the receiver what it has taken.
  alignas(64) std::atomic<std::int64_t> udp_sent{0};
  alignas(64) std::atomic<std::int64_t> udp_taken{0};
  std::atomic<std::int64_t> udp_room{0};
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// A ring of records (ring.h) for one sender and one receiver. Positions count bytes and never wrap; a record never
// straddles the end of the ring: what is left there is skipped.
struct Ring {
  static constexpr std::uint64_t kBytes = 1U << 19;

  // -- the receiver's words
  alignas(64) std::atomic<std::uint64_t> taken{0};  // up to where the sender may write again
  std::atomic<std::uint64_t> fetched{0};            // up to where no exported payload will be fetched any more
  std::atomic<std::uint32_t> takes_one_copy{0};     // it can read the sender's memory: payloads may stay there
  // -- the sender's words, seldom written: they share the line
  std::atomic<std::int32_t> process{0};  // by which the kernel knows it; 0: it exports no memory. Written last
  std::atomic<std::uint64_t> token_address{0}, token{0};  // peer_memory.h
  std::atomic<std::uint64_t> void_before{0};              // exported payloads before this position have been revoked
  std::atomic<std::uint32_t> write_cost{0};               // of long payloads (copy_choice.h); 0: not known
  alignas(64) std::byte data[kBytes];
};
static_assert(offsetof(Ring, data) == 64);

struct Channel {
  Ring rings[2];  // [0]: from the lane with the lower number to the other
};

}  // namespace weft::real
