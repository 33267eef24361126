// What StaR's control packets carry as payload: work of the stateless side (WQEP), its completions (CQEP), how much has
// been heard (EA), the state that moves when a connection is made (WQEP with M), and capabilities asked for and granted
// (CQEP and EA with M).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/star.h"

namespace weft::wire {

// The longest payload of WQEPs and CQEPs, whatever the path MTU of the connection: every Ethernet carries it.
inline constexpr std::size_t kStarControlBytes = 1024;

// Head of a WQEP: so many entries of one queue follow.
struct StarPosts {
  static constexpr std::size_t kBytes = 8;
  bool receives = false;
  std::uint8_t count = 0, epoch = 0;  // the epoch of their capabilities
  std::uint32_t first = 0;            // free-running number of the first
  friend constexpr bool operator==(const StarPosts&, const StarPosts&) = default;

  static constexpr StarPosts decode(std::span<const std::byte, kBytes> b) {
    return {.receives = get<std::uint8_t, 0>(b) != 0,
            .count = get<std::uint8_t, 1>(b),
            .epoch = get<std::uint8_t, 2>(b),
            .first = get<std::uint32_t, 4>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint8_t, 0>(b, receives ? 1 : 0);
    put<std::uint8_t, 1>(b, count);
    put<std::uint8_t, 2>(b, epoch);
    put<std::uint8_t, 3>(b, 0);
    put<std::uint32_t, 4>(b, first);
  }
};
static_assert(round_trips(StarPosts{true, 3, 9, 0x8000'0001}));

// An entry of a send or receive queue. Behind it `sges` elements, or `length` inline bytes.
struct StarWork {
  static constexpr std::size_t kBytes = 40;
  std::uint8_t kind = 0, flags = 0, sges = 0;  // as nic/formats.h has them
  Refusal refusal = Refusal::none;             // the stateless side's own gate has refused its elements
  std::uint32_t length = 0, immediate = 0;
  Key key{};
  std::uint64_t address = 0, compare_add = 0, swap = 0;
  friend constexpr bool operator==(const StarWork&, const StarWork&) = default;

  static constexpr StarWork decode(std::span<const std::byte, kBytes> b) {
    return {.kind = get<std::uint8_t, 0>(b),
            .flags = get<std::uint8_t, 1>(b),
            .sges = get<std::uint8_t, 2>(b),
            .refusal = static_cast<Refusal>(get<std::uint8_t, 3>(b)),
            .length = get<std::uint32_t, 4>(b),
            .immediate = get<std::uint32_t, 8>(b),
            .key = Key(get<std::uint32_t, 12>(b)),
            .address = get<std::uint64_t, 16>(b),
            .compare_add = get<std::uint64_t, 24>(b),
            .swap = get<std::uint64_t, 32>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint8_t, 0>(b, kind);
    put<std::uint8_t, 1>(b, flags);
    put<std::uint8_t, 2>(b, sges);
    put<std::uint8_t, 3>(b, static_cast<std::uint8_t>(refusal));
    put<std::uint32_t, 4>(b, length);
    put<std::uint32_t, 8>(b, immediate);
    put<std::uint32_t, 12>(b, key.raw());
    put<std::uint64_t, 16>(b, address);
    put<std::uint64_t, 24>(b, compare_add);
    put<std::uint64_t, 32>(b, swap);
  }
};
static_assert(round_trips(StarWork{1, 2, 3, Refusal::truncated, 4, 5, Key(6), 7, 8, 9}));

// A scatter/gather element of the stateless side, with the capability that opens exactly it.
struct StarSge {
  static constexpr std::size_t kBytes = 32;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  Key key{};
  StarMac mac{};
  friend constexpr bool operator==(const StarSge&, const StarSge&) = default;

  static constexpr StarSge decode(std::span<const std::byte, kBytes> b) {
    return {.address = get<std::uint64_t, 0>(b),
            .length = get<std::uint32_t, 8>(b),
            .key = Key(get<std::uint32_t, 12>(b)),
            .mac = get_array<16, 16, std::uint8_t>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint64_t, 0>(b, address);
    put<std::uint32_t, 8>(b, length);
    put<std::uint32_t, 12>(b, key.raw());
    put_array<16>(b, mac);
  }
};
static_assert(round_trips(StarSge{1, 2, Key(3), {4, 5}}));

// A completion of the stateless side. A CQEP carries as many as its length says.
struct StarDone {
  static constexpr std::size_t kBytes = 16;
  enum class Queue : std::uint8_t { send, receive, none };  // none: the connection breaks, whatever was posted
  // What a receive's completion says besides.
  static constexpr std::uint8_t immediate_data = 1, invalidates = 2, solicited = 4, of_write = 8;
  Queue queue{};
  std::uint8_t status = 0;  // as nic/formats.h has it
  Refusal reason = Refusal::none;
  std::uint8_t flags = 0;
  std::uint32_t bytes = 0, immediate = 0;
  std::uint32_t number = 0;  // free-running, of the entry
  friend constexpr bool operator==(const StarDone&, const StarDone&) = default;

  static constexpr StarDone decode(std::span<const std::byte, kBytes> b) {
    return {.queue = static_cast<Queue>(get<std::uint8_t, 0>(b)),
            .status = get<std::uint8_t, 1>(b),
            .reason = static_cast<Refusal>(get<std::uint8_t, 2>(b)),
            .flags = get<std::uint8_t, 3>(b),
            .bytes = get<std::uint32_t, 4>(b),
            .immediate = get<std::uint32_t, 8>(b),
            .number = get<std::uint32_t, 12>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint8_t, 0>(b, static_cast<std::uint8_t>(queue));
    put<std::uint8_t, 1>(b, status);
    put<std::uint8_t, 2>(b, static_cast<std::uint8_t>(reason));
    put<std::uint8_t, 3>(b, flags);
    put<std::uint32_t, 4>(b, bytes);
    put<std::uint32_t, 8>(b, immediate);
    put<std::uint32_t, 12>(b, number);
  }
};
static_assert(round_trips(StarDone{StarDone::Queue::receive, 1, Refusal::truncated, 2, 3, 4, 5}));

// The state that moves to the stateful side. It brings a key for the connection as long as nothing says that it has
// been heard. The seal is a MAC under that key over all that stands before it, and over the stateful side's queue pair.
struct StarInitial {
  static constexpr std::size_t kBytes = 80, kSealed = 64;
  Qpn qpn{};                                                 // of the stateless side
  std::uint32_t rules = 0;                                   // grows when it takes back what it has granted
  std::uint32_t domain = 0;                                  // protection domain of the stateless side's queue pair
  std::uint64_t block = 0;                                   // where its completions go: number and generation
  std::uint8_t epoch = 0;                                    // of `control`
  std::uint8_t rnr_retry = 0, min_rnr_timer = 0, saved = 0;  // saved: atomics that it can replay
  bool broken = false;                                       // it has broken, and takes nothing more
  bool trusts = false;                                       // it wants no capabilities: packets need no extension
  std::uint32_t era = 0;                                     // tells moves of a running connection to StaR apart
  StarMac control{};                                         // of the capability for the block
  StarMac key{};                                             // or zeros
  StarMac seal{};
  friend constexpr bool operator==(const StarInitial&, const StarInitial&) = default;

  static constexpr StarInitial decode(std::span<const std::byte, kBytes> b) {
    return {.qpn = Qpn(get<std::uint32_t, 0>(b)),
            .rules = get<std::uint32_t, 4>(b),
            .domain = get<std::uint32_t, 40>(b),
            .block = get<std::uint64_t, 8>(b),
            .epoch = get<std::uint8_t, 16>(b),
            .rnr_retry = get<std::uint8_t, 17>(b),
            .min_rnr_timer = get<std::uint8_t, 18>(b),
            .saved = get<std::uint8_t, 19>(b),
            .broken = (get<std::uint8_t, 21>(b) & 1) != 0,
            .trusts = (get<std::uint8_t, 21>(b) & 2) != 0,
            .era = get<std::uint32_t, 44>(b),
            .control = get_array<24, 16, std::uint8_t>(b),
            .key = get_array<48, 16, std::uint8_t>(b),
            .seal = get_array<64, 16, std::uint8_t>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, qpn.raw());
    put<std::uint32_t, 4>(b, rules);
    put<std::uint64_t, 8>(b, block);
    put<std::uint8_t, 16>(b, epoch);
    put<std::uint8_t, 17>(b, rnr_retry);
    put<std::uint8_t, 18>(b, min_rnr_timer);
    put<std::uint8_t, 19>(b, saved);
    put<std::uint32_t, 20>(b, (broken ? 1U << 16 : 0) | (trusts ? 2U << 16 : 0));
    put_array<24>(b, control);
    put<std::uint32_t, 40>(b, domain);
    put<std::uint32_t, 44>(b, era);
    put_array<48>(b, key);
    put_array<64>(b, seal);
  }
};
static_assert(round_trips(StarInitial{Qpn(1), 8, 9, 2, 3, 4, 5, 6, true, true, 10, {7}, {8}, {9}}));

// In an EA to the stateless side: what has been heard of its posts and of its state, and how many entries there is room
// for. An EA may be late: then it is about an earlier state, and says so.
struct StarHeard {
  static constexpr std::size_t kBytes = 20;
  std::uint32_t works = 0, receives = 0;  // free-running: all before these
  std::uint32_t room = 0;                 // entries of each queue that the stateful side keeps
  std::uint32_t rules = 0;                // as in StarInitial,
  std::uint8_t epoch = 0;                 //   likewise,
  bool broken = false;                    //   likewise
  friend constexpr bool operator==(const StarHeard&, const StarHeard&) = default;

  static constexpr StarHeard decode(std::span<const std::byte, kBytes> b) {
    return {.works = get<std::uint32_t, 0>(b),
            .receives = get<std::uint32_t, 4>(b),
            .room = get<std::uint32_t, 8>(b),
            .rules = get<std::uint32_t, 12>(b),
            .epoch = get<std::uint8_t, 16>(b),
            .broken = get<std::uint8_t, 17>(b) != 0};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, works);
    put<std::uint32_t, 4>(b, receives);
    put<std::uint32_t, 8>(b, room);
    put<std::uint32_t, 12>(b, rules);
    put<std::uint32_t, 16>(b, std::uint32_t{epoch} << 24 | (broken ? 1U << 16 : 0));
  }
};
static_assert(round_trips(StarHeard{1, 2, 3, 4, 5, true}));

// In a CQEP with M: what may the connection do with this key?
struct StarQuestion {
  static constexpr std::size_t kBytes = 4;
  Key key{};
  friend constexpr bool operator==(const StarQuestion&, const StarQuestion&) = default;

  static constexpr StarQuestion decode(std::span<const std::byte, kBytes> b) { return {Key(get<std::uint32_t, 0>(b))}; }
  constexpr void encode(std::span<std::byte, kBytes> b) const { put<std::uint32_t, 0>(b, key.raw()); }
};
static_assert(round_trips(StarQuestion{Key(7)}));

// In an EA to the stateful side with M: the rule that was asked for, and a capability for it. The seal is as that of
// StarInitial, and is over the number of the question as well: it answers that one and no other.
struct StarGrant {
  static constexpr std::size_t kBytes = 64, kSealed = 48;
  Key key{};
  std::uint8_t rights = 0, epoch = 0;
  bool is_window = false;
  StarMac mac{};
  std::uint64_t base = 0, length = 0;  // what the key opens
  std::uint32_t rules = 0;             // as in StarInitial, when the question was answered
  std::uint32_t domain = 0;            // that the region or window belongs to
  StarMac seal{};
  friend constexpr bool operator==(const StarGrant&, const StarGrant&) = default;

  static constexpr StarGrant decode(std::span<const std::byte, kBytes> b) {
    return {.key = Key(get<std::uint32_t, 0>(b)),
            .rights = get<std::uint8_t, 4>(b),
            .epoch = get<std::uint8_t, 5>(b),
            .is_window = get<std::uint8_t, 6>(b) != 0,
            .mac = get_array<8, 16, std::uint8_t>(b),
            .base = get<std::uint64_t, 24>(b),
            .length = get<std::uint64_t, 32>(b),
            .rules = get<std::uint32_t, 40>(b),
            .domain = get<std::uint32_t, 44>(b),
            .seal = get_array<48, 16, std::uint8_t>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, key.raw());
    put<std::uint32_t, 4>(b, std::uint32_t{rights} << 24 | std::uint32_t{epoch} << 16 | (is_window ? 1U << 8 : 0));
    put_array<8>(b, mac);
    put<std::uint64_t, 24>(b, base);
    put<std::uint64_t, 32>(b, length);
    put<std::uint32_t, 40>(b, rules);
    put<std::uint32_t, 44>(b, domain);
    put_array<48>(b, seal);
  }
};
static_assert(round_trips(StarGrant{Key(1), 2, 3, true, {4}, 5, 6, 7, 8, {9}}));

// In an RD of an atomic. `count` is the atomic's free-running number; its slot in the stateless host's memory keeps the
// last one's, so that a copy is answered and not done again.
struct StarAtomic {
  static constexpr std::size_t kBytes = 48;
  bool adds = false;
  std::uint8_t epoch = 0;  // of `control`
  std::uint32_t count = 0;
  std::uint64_t swap_add = 0, compare = 0;
  std::uint64_t block = 0;
  StarMac control{};
  friend constexpr bool operator==(const StarAtomic&, const StarAtomic&) = default;

  static constexpr StarAtomic decode(std::span<const std::byte, kBytes> b) {
    return {.adds = get<std::uint8_t, 0>(b) != 0,
            .epoch = get<std::uint8_t, 1>(b),
            .count = get<std::uint32_t, 4>(b),
            .swap_add = get<std::uint64_t, 8>(b),
            .compare = get<std::uint64_t, 16>(b),
            .block = get<std::uint64_t, 24>(b),
            .control = get_array<32, 16, std::uint8_t>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, (adds ? 1U << 24 : 0) | std::uint32_t{epoch} << 16);
    put<std::uint32_t, 4>(b, count);
    put<std::uint64_t, 8>(b, swap_add);
    put<std::uint64_t, 16>(b, compare);
    put<std::uint64_t, 24>(b, block);
    put_array<32>(b, control);
  }
};
static_assert(round_trips(StarAtomic{true, 1, 2, 3, 4, 5, {6}}));

// Reads a struct at `at` of a payload that has it.
template <class T>
[[nodiscard]] constexpr T star_read(std::span<const std::byte> payload, std::size_t at) {
  return T::decode(std::span<const std::byte, T::kBytes>(payload.data() + at, T::kBytes));
}
template <class T>
constexpr void star_write(std::byte* at, const T& value) {
  value.encode(std::span<std::byte, T::kBytes>(at, T::kBytes));
}

}  // namespace weft::wire
