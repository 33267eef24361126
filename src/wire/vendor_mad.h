// How Weft cards find out about each other: a question to queue pair 1, of a vendor's class (IBA 16.5), and its answer.
// Both say which versions of the srnic dialect their sender speaks, which roles of StaR it plays, how many reliable
// connections it has, and whether it answers calls of kernels. A card of another make does not answer, or answers that
// it does not know the question: Linux does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/mad.h"
#include "wire/refusal.h"
#include "wire/types.h"

namespace weft::wire {

// Versions of the srnic dialect that a card speaks. 0 is none: such a card speaks roce only.
struct DialectVersions {
  std::uint8_t lowest = 0, highest = 0;
  friend constexpr bool operator==(const DialectVersions&, const DialectVersions&) = default;
};
// The versions of srnic that this card speaks: wire/srnic.h is version 3. In version 1 no ACK travelled with a request;
// in version 2 there were no probes.
inline constexpr DialectVersions kDialectVersions{3, 3};

// The highest version that both speak; 0: none, and roce it is.
constexpr std::uint8_t common_version(const DialectVersions& a, const DialectVersions& b) {
  const std::uint8_t highest = std::min(a.highest, b.highest);
  return highest >= std::max(a.lowest, b.lowest) ? highest : std::uint8_t{0};
}
static_assert(common_version({1, 3}, {2, 4}) == 3 && common_version({2, 4}, {1, 3}) == 3);
static_assert(common_version({1, 1}, {2, 3}) == 0 && common_version({0, 0}, {1, 1}) == 0);

// How calls of kernels (nic/kernels) look on the wire: the version that this card answers, if its queue pair serves
// any.
inline constexpr std::uint8_t kCallVersion = 1;

// Which roles of StaR (wire/star.h) a card's queue pairs play. A card that does not know StaR says none.
struct StarRoles {
  static constexpr std::uint8_t kStateless = 1, kStateful = 2;
  static constexpr std::uint8_t kAlways = 4;   // all its reliable connections play that, and speak nothing else
  static constexpr std::uint8_t kFollows = 8;  // it plays none, but is stateful for a peer that is always stateless
  // It chooses for each connection: it takes the state of one that a peer offers, is stateless for a peer that is
  // always stateful, and may be stateless because it has many connections.
  static constexpr std::uint8_t kChooses = 16;
  static constexpr std::uint8_t kOffers = 32;  // of a question: the asker's queue pair is stateless
  std::uint8_t bits = 0;
  [[nodiscard]] constexpr bool any() const { return (bits & (kStateless | kStateful)) != 0; }
  [[nodiscard]] constexpr bool has(std::uint8_t role) const { return (bits & role) != 0; }
  // Does a stateful side find its partner there; a stateless one?
  [[nodiscard]] constexpr bool suits_stateful() const { return has(kStateless | kChooses); }
  [[nodiscard]] constexpr bool suits_stateless() const { return has(kStateful | kFollows | kChooses); }
  [[nodiscard]] constexpr bool asks_for_stateful() const { return has(kStateless) && has(kAlways); }
  [[nodiscard]] constexpr bool asks_for_stateless() const { return has(kStateful) && has(kAlways); }
  friend constexpr bool operator==(const StarRoles&, const StarRoles&) = default;
};

struct VendorMad {
  // A class of the range whose datagrams name their maker; the name is one of the numbers that nobody is assigned.
  static constexpr std::uint8_t kClass = 0x3E, kClassVersion = 1;
  static constexpr std::uint32_t kMaker = 0x02'57'46;
  static constexpr std::uint16_t kAttribute = 0x0001;
  static constexpr std::uint64_t kMagic = 0x5765'6674'4361'7264;  // "WeftCard"
  // Where things stand; behind them zeros, for later versions to use and for earlier ones to ignore.
  static constexpr std::size_t kMakerAt = 36, kBodyAt = 40, kBodyBytes = 25;

  std::uint64_t transaction = 0;
  bool is_answer = false;
  std::uint16_t status = 0;       // of an answer; not 0: whoever answers does not know the question
  DialectVersions versions{};     // that the sender speaks
  std::uint8_t chosen = 0;        // of an answer: common_version(), as the sender sees it
  StarRoles roles{};              // of StaR, that the sender plays; other bits have no meaning yet
  std::uint32_t connections = 0;  // reliable ones, that the sender has
  std::uint8_t calls = 0;         // of kernels that the sender's card answers: kCallVersion; 0: none
  Qpn asker{}, about{};           // whose connection the question is for; the answer has the same
  friend constexpr bool operator==(const VendorMad&, const VendorMad&) = default;
};

namespace detail {
constexpr VendorMad decode_vendor_body(std::span<const std::byte, VendorMad::kBodyBytes> b, VendorMad m) {
  m.versions = {.lowest = get<std::uint8_t, 8>(b), .highest = get<std::uint8_t, 9>(b)};
  m.chosen = get<std::uint8_t, 10>(b);
  m.roles = {get<std::uint8_t, 11>(b)};
  m.asker = Qpn(get<std::uint32_t, 12>(b));
  m.about = Qpn(get<std::uint32_t, 16>(b));
  m.connections = get<std::uint32_t, 20>(b);
  m.calls = get<std::uint8_t, 24>(b);
  return m;
}
}  // namespace detail

// Refuses what is not 256 bytes (mad_bad_size), not a question or answer of ours (mad_not_weft), or contradicts itself
// (mad_bad_versions).
[[nodiscard]] constexpr Refusal parse_vendor(std::span<const std::byte> mad, VendorMad& out) {
  if (mad.size() != kMadBytes) return Refusal::mad_bad_size;
  const MadHeader header = MadHeader::decode(mad.first<MadHeader::kBytes>());
  const auto maker = get<std::uint32_t, 0>(mad.subspan<VendorMad::kMakerAt>().first<4>()) & 0xFF'FFFF;
  const auto body = mad.subspan<VendorMad::kBodyAt>().first<VendorMad::kBodyBytes>();
  const bool answers = header.method == MadHeader::kMethodGetResponse;
  if (header.base_version != MadHeader::kBaseVersion || header.management_class != VendorMad::kClass ||
      header.class_version != VendorMad::kClassVersion || (!answers && header.method != MadHeader::kMethodGet) ||
      header.attribute != VendorMad::kAttribute || maker != VendorMad::kMaker ||
      get<std::uint64_t, 0>(body) != VendorMad::kMagic) {
    return Refusal::mad_not_weft;
  }
  const VendorMad m = detail::decode_vendor_body(
      body, {.transaction = header.transaction, .is_answer = answers, .status = header.status});
  if (m.versions.lowest > m.versions.highest) return Refusal::mad_bad_versions;
  out = m;
  return Refusal::none;
}

constexpr void encode_vendor(const VendorMad& m, std::span<std::byte, kMadBytes> out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  MadHeader{.management_class = VendorMad::kClass,
            .class_version = VendorMad::kClassVersion,
            .method = m.is_answer ? MadHeader::kMethodGetResponse : MadHeader::kMethodGet,
            .status = m.status,
            .transaction = m.transaction,
            .attribute = VendorMad::kAttribute}
      .encode(out.first<MadHeader::kBytes>());
  put<std::uint32_t, 0>(out.subspan<VendorMad::kMakerAt>().first<4>(), VendorMad::kMaker);
  const auto body = out.subspan<VendorMad::kBodyAt>().first<VendorMad::kBodyBytes>();
  put<std::uint64_t, 0>(body, VendorMad::kMagic);
  put<std::uint8_t, 8>(body, m.versions.lowest);
  put<std::uint8_t, 9>(body, m.versions.highest);
  put<std::uint8_t, 10>(body, m.chosen);
  put<std::uint8_t, 11>(body, m.roles.bits);
  put<std::uint32_t, 12>(body, m.asker.raw());
  put<std::uint32_t, 16>(body, m.about.raw());
  put<std::uint32_t, 20>(body, m.connections);
  put<std::uint8_t, 24>(body, m.calls);
}

// What a card that speaks `own`, plays these roles and has so many connections, says to a question.
[[nodiscard]] constexpr VendorMad answer_to(const VendorMad& question, const DialectVersions& own, StarRoles roles = {},
                                            std::uint32_t connections = 0) {
  VendorMad answer = question;
  answer.is_answer = true;
  answer.status = 0;
  answer.versions = own;
  answer.chosen = common_version(own, question.versions);
  answer.roles = roles;
  answer.connections = connections;
  answer.calls = kCallVersion;
  return answer;
}

}  // namespace weft::wire
