// How two Weft cards agree that a running connection shall speak another dialect, or play other roles of StaR from now
// on: datagrams to queue pair 1 of the vendor's class (wire/vendor_mad.h), each about one connection and one move of
// it. What is said when is in host/star/move.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/dialect.h"
#include "wire/mad.h"
#include "wire/refusal.h"
#include "wire/types.h"
#include "wire/vendor_mad.h"

namespace weft::wire {

// What the connection is to speak. In StaR, the part of the side that asked for the move; the peer plays the other.
struct MoveTarget {
  enum class Asker : std::uint8_t { neither, stateless, stateful };
  Dialect dialect{};
  Asker asker{};
  friend constexpr bool operator==(const MoveTarget&, const MoveTarget&) = default;
};

// How far a side's queues have come, and which PSN its first packet has in the new dialect.
struct MoveNumbers {
  std::uint32_t sends = 0, receives = 0;  // free-running counts of entries that are done
  Psn psn{};
  friend constexpr bool operator==(const MoveNumbers&, const MoveNumbers&) = default;
};

// One datagram of a move.
struct MoveMad {
  enum class Kind : std::uint8_t {
    ask,      // by the asker: shall we?
    drain,    // by the other side: it begins nothing new, and waits for what it has under way
    ready,    //   nothing is under way
    commit,   // by the asker: nothing is under way here either; change now
    done,     // by the other side: it has changed
    confirm,  // by the asker: it has changed, too, and both go on
    refuse,   // by the other side: no, or not any more
    cancel,   // by the asker, before it commits: not any more
    count_,
  };
  static constexpr std::uint16_t kAttribute = 0x0002;
  static constexpr std::size_t kBodyBytes = 40;

  Kind kind{};
  MoveTarget target{};
  MoveNumbers numbers{};          // the sender's; of commit and done
  std::uint32_t generation = 0;   // of the asker's moves of this connection, which it numbers
  Qpn from{}, about{};            // the sender's queue pair, and the receiver's
  std::uint32_t connections = 0;  // reliable ones that the sender has
  friend constexpr bool operator==(const MoveMad&, const MoveMad&) = default;
};

// Refuses what is not 256 bytes (mad_bad_size), what no side of a move says (mad_not_weft), and what somebody says who
// means another srnic (mad_bad_versions).
[[nodiscard]] constexpr Refusal parse_move(std::span<const std::byte> mad, MoveMad& out) {
  if (mad.size() != kMadBytes) return Refusal::mad_bad_size;
  const MadHeader header = MadHeader::decode(mad.first<MadHeader::kBytes>());
  const auto maker = get<std::uint32_t, 0>(mad.subspan<VendorMad::kMakerAt>().first<4>()) & 0xFF'FFFF;
  const auto b = mad.subspan<VendorMad::kBodyAt>().first<MoveMad::kBodyBytes>();
  const auto kind = get<std::uint8_t, 8>(b), dialect = get<std::uint8_t, 9>(b), asker = get<std::uint8_t, 10>(b);
  if (header.base_version != MadHeader::kBaseVersion || header.management_class != VendorMad::kClass ||
      header.class_version != VendorMad::kClassVersion || header.method != MadHeader::kMethodSend ||
      header.attribute != MoveMad::kAttribute || maker != VendorMad::kMaker ||
      get<std::uint64_t, 0>(b) != VendorMad::kMagic) {
    return Refusal::mad_not_weft;
  }
  const MoveTarget target{static_cast<Dialect>(dialect), static_cast<MoveTarget::Asker>(asker)};
  const bool is_star = target.dialect == Dialect::star;
  if (kind >= static_cast<std::uint8_t>(MoveMad::Kind::count_) || dialect > static_cast<std::uint8_t>(Dialect::star) ||
      target.dialect == Dialect::undecided || asker > static_cast<std::uint8_t>(MoveTarget::Asker::stateful) ||
      is_star != (target.asker != MoveTarget::Asker::neither)) {
    return Refusal::mad_not_weft;
  }
  if (get<std::uint8_t, 11>(b) != kDialectVersions.highest) return Refusal::mad_bad_versions;
  out = {.kind = static_cast<MoveMad::Kind>(kind),
         .target = target,
         .numbers = {.sends = get<std::uint32_t, 28>(b),
                     .receives = get<std::uint32_t, 32>(b),
                     .psn = Psn(get<std::uint32_t, 36>(b))},
         .generation = get<std::uint32_t, 24>(b),
         .from = Qpn(get<std::uint32_t, 12>(b)),
         .about = Qpn(get<std::uint32_t, 16>(b)),
         .connections = get<std::uint32_t, 20>(b)};
  return Refusal::none;
}

constexpr void encode_move(const MoveMad& m, std::uint64_t transaction, std::span<std::byte, kMadBytes> out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  MadHeader{.management_class = VendorMad::kClass,
            .class_version = VendorMad::kClassVersion,
            .method = MadHeader::kMethodSend,
            .transaction = transaction,
            .attribute = MoveMad::kAttribute}
      .encode(out.first<MadHeader::kBytes>());
  put<std::uint32_t, 0>(out.subspan<VendorMad::kMakerAt>().first<4>(), VendorMad::kMaker);
  const auto b = out.subspan<VendorMad::kBodyAt>().first<MoveMad::kBodyBytes>();
  put<std::uint64_t, 0>(b, VendorMad::kMagic);
  put<std::uint8_t, 8>(b, static_cast<std::uint8_t>(m.kind));
  put<std::uint8_t, 9>(b, static_cast<std::uint8_t>(m.target.dialect));
  put<std::uint8_t, 10>(b, static_cast<std::uint8_t>(m.target.asker));
  put<std::uint8_t, 11>(b, kDialectVersions.highest);
  put<std::uint32_t, 12>(b, m.from.raw());
  put<std::uint32_t, 16>(b, m.about.raw());
  put<std::uint32_t, 20>(b, m.connections);
  put<std::uint32_t, 24>(b, m.generation);
  put<std::uint32_t, 28>(b, m.numbers.sends);
  put<std::uint32_t, 32>(b, m.numbers.receives);
  put<std::uint32_t, 36>(b, m.numbers.psn.raw());
}

}  // namespace weft::wire
