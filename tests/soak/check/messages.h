// What two checking programs tell each other: over TCP how to connect, and in SENDs what the receiver is to find.
#pragma once

#include <array>
#include <cstdint>

#include "../../stress/objects.h"

namespace soak {

// Both sides lay out their memory in the same way. The caller sends from `kFrom` and reads into `kInto`. The answerer
// is written to at `kFrom` and read from at `kInto`. `kWords`: counters on one side, their old values on the other.
inline constexpr std::size_t kFrom = 0, kFromBytes = 1 << 20;
inline constexpr std::size_t kInto = kFrom + kFromBytes, kIntoBytes = 1 << 18;
inline constexpr std::size_t kWords = kInto + kIntoBytes, kWordsBytes = 4096, kCounters = 8;
inline constexpr std::size_t kOutbox = kWords + kWordsBytes, kSlotBytes = 1 << 16;
inline constexpr std::size_t kSlots = kOutbox + kSlotBytes;  // receives, kSlotBytes each
inline constexpr std::size_t kGap = 64;                      // between writes: it stays as it was
inline constexpr std::uint32_t kMaxOps = 12;

// The first thing on a TCP connection, in both directions.
struct Hello {
  std::uint64_t magic = 0x7765'6674'736F'616B;
  std::uint64_t seed = 0;
  std::array<char, 32> name{};
  stress::Address address;
};
inline constexpr char kBye = 'B';  // the last one of who ends well

enum class MessageKind : std::uint32_t { data = 0xDA7A'0001, note = 0xDA7A'0002 };

// The first bytes of every SEND. `sequence` counts SENDs and WRITEs with immediate data of a connection.
struct Header {
  MessageKind kind = MessageKind::data;
  std::uint32_t bytes = 0;  // header included
  std::uint64_t sequence = 0, seed = 0;
};

struct Written {
  std::uint32_t offset = 0, bytes = 0;
  std::uint64_t seed = 0;
};

// What a batch has written, and what the caller wants for the next one.
struct Note {
  Header header;
  std::uint64_t next_read_seed = 0, reply_seed = 0;
  std::uint32_t reply_bytes = 0, writes = 0;
  std::array<Written, kMaxOps> written{};
};

inline std::uint64_t background_of(std::uint64_t seed) { return seed ^ 0xBAC6; }
inline std::uint64_t first_read_seed(std::uint64_t seed) { return seed ^ 0x12EAD; }

}  // namespace soak
