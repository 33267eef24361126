// Connection manager messages (IBA chapter 12): a MAD of class 7 in, one of eleven messages out, or a named refusal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "wire/cm_connect.h"
#include "wire/cm_end.h"
#include "wire/cm_more.h"
#include "wire/mad.h"
#include "wire/refusal.h"

namespace weft::wire {

inline constexpr std::uint8_t kCmClass = 0x07, kCmClassVersion = 2;

using CmBody = std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq, CmSidrRep, CmLap, CmApr>;

struct CmMessage {
  std::uint64_t transaction = 0;
  CmBody body{};
  friend constexpr bool operator==(const CmMessage&, const CmMessage&) = default;
};

// Refuses what is not 256 bytes (mad_bad_size), not the connection manager's (mad_not_cm), or none of the eleven
// (mad_unknown_attribute).
[[nodiscard]] Refusal parse_cm(std::span<const std::byte> mad, CmMessage& out);

void encode_cm(const CmMessage& message, std::span<std::byte, kMadBytes> out);

}  // namespace weft::wire
