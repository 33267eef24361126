// The headers of the srnic dialect, which two Weft cards speak with each other: selective repeat without memory for it.
// Every packet says which message it belongs to and where in it it stands, so the receiver can place it in any order;
// acknowledgements echo that, so the sender can find the work entry and the byte without a table of what is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/types.h"

namespace weft::wire {

// In every srnic packet: message sequence number, SEND sequence number, offset in packets. One word, as it is sent.
class Sequence {
 public:
  static constexpr std::size_t kBytes = 8;
  static constexpr std::uint32_t kNumberMask = 0xF'FFFF;   // 20 bits: more than any queue has entries
  static constexpr std::uint32_t kOffsetMask = 0xFF'FFFF;  // 24 bits: 2 GiB in packets of 256 bytes is 2^23

  constexpr Sequence() = default;
  // In words of 32 bits: shifted as 64 bits, g++ 12 puts a number aside as 32 bits and takes back 64, which takes long.
  constexpr Sequence(std::uint32_t msn, std::uint32_t ssn, std::uint32_t offset)
      : word_(std::uint64_t{msn << 12 | (ssn & kNumberMask) >> 8} << 32 | (ssn << 24 | (offset & kOffsetMask))) {}

  // Which work entry of the requester: its free-running count, as far as 20 bits go.
  [[nodiscard]] constexpr std::uint32_t msn() const { return static_cast<std::uint32_t>(word_ >> 44); }
  // Which receive entry of the responder: SENDs and WRITEs with immediate count, nothing else does.
  [[nodiscard]] constexpr std::uint32_t ssn() const { return static_cast<std::uint32_t>(word_ >> 24) & kNumberMask; }
  [[nodiscard]] constexpr std::uint32_t offset() const { return static_cast<std::uint32_t>(word_) & kOffsetMask; }
  [[nodiscard]] constexpr std::uint64_t raw() const { return word_; }
  friend constexpr bool operator==(const Sequence&, const Sequence&) = default;
  // So many packets further on in the same message.
  [[nodiscard]] constexpr Sequence plus(std::uint32_t packets) const { return {msn(), ssn(), offset() + packets}; }

  // A number of 20 bits as the free-running count nearest to `base`, not behind it.
  static constexpr std::uint32_t unfold(std::uint32_t number, std::uint32_t base) {
    return base + ((number - base) & kNumberMask);
  }

  static constexpr Sequence decode(std::span<const std::byte, kBytes> b) {
    Sequence s;
    s.word_ = get<std::uint64_t, 0>(b);
    return s;
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const { put<std::uint64_t, 0>(b, word_); }

 private:
  std::uint64_t word_ = 0;
};
static_assert(round_trips(Sequence(0xABCDE, 0x12345, 0x678901)));
static_assert(Sequence(0xABCDE, 0x12345, 0x678901).msn() == 0xABCDE &&
              Sequence(0xABCDE, 0x12345, 0x678901).ssn() == 0x12345 &&
              Sequence(0xABCDE, 0x12345, 0x678901).offset() == 0x678901);
static_assert(Sequence::unfold(2, 0xFFFFE) == 0x100002 && Sequence::unfold(7, 7) == 7);

// What an srnic acknowledgement says, of requests or of responses. The packet's own PSN and Sequence are those of the
// packet that it answers.
struct SrnicAck {
  static constexpr std::size_t kBytes = 8;
  // Beyond the syndromes of the specification (wire/syndrome.h), where "NAK, sequence error" means a selective
  // acknowledgement: `run` packets that end with this PSN have arrived, and `expected` has not.
  // Exactly the `run` packets that begin with this PSN are missing, and nothing but those; the Sequence is that of the
  // newest packet.
  static constexpr std::uint8_t kMissing = 0x80;
  // The answer to a probe, which had this PSN: `expected` and all that follows it up to there had not arrived when the
  // probe did, but for `run` packets. The Sequence has no message: its offset is the PSN behind those packets. If
  // nothing is missing, `run` is how many READs and atomics are still to be answered.
  static constexpr std::uint8_t kProbed = 0x81;

  static constexpr std::uint16_t kMostMarked = 0xFFF;
  static constexpr std::uint8_t kMostDuplicates = 0xF;

  std::uint8_t syndrome = 0;
  Psn expected{};         // everything before it has arrived
  std::uint16_t run = 0;  // how many packets
  // Since the last ACK:
  std::uint16_t marked = 0;     // packets that arrived marked by a congested switch, 4095 at most
  std::uint8_t duplicates = 0;  // packets that had arrived before, 15 at most
  friend constexpr bool operator==(const SrnicAck&, const SrnicAck&) = default;

  static constexpr SrnicAck decode(std::span<const std::byte, kBytes> b) {
    const auto first = get<std::uint32_t, 0>(b);
    return {.syndrome = bits<24, 8>(first),
            .expected = Psn(first),
            .run = get<std::uint16_t, 4>(b),
            .marked = static_cast<std::uint16_t>(get<std::uint16_t, 6>(b) & kMostMarked),
            .duplicates = static_cast<std::uint8_t>(get<std::uint8_t, 6>(b) >> 4)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, place_bits<24, 8>(syndrome) | expected.raw());
    put<std::uint16_t, 4>(b, run);
    put<std::uint16_t, 6>(b, static_cast<std::uint16_t>(duplicates << 12 | marked));
  }
};
static_assert(round_trips(SrnicAck{
    .syndrome = 0x60, .expected = Psn(0xABCDEF), .run = 0x1234, .marked = 0xEDC, .duplicates = 15}));

// Where a WRITE packet goes: all of them say so. The first two members of a Reth, which is what it is parsed into.
struct Target {
  static constexpr std::size_t kBytes = 12;
  std::uint64_t address = 0;
  Key key{};
  friend constexpr bool operator==(const Target&, const Target&) = default;

  static constexpr Target decode(std::span<const std::byte, kBytes> b) {
    return {.address = get<std::uint64_t, 0>(b), .key = Key(get<std::uint32_t, 8>(b))};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint64_t, 0>(b, address);
    put<std::uint32_t, 8>(b, key.raw());
  }
};
static_assert(round_trips(Target{.address = 0x0123'4567'89AB'CDEF, .key = Key(0xFEDC'BA98)}));

}  // namespace weft::wire
