// Numbers that the connection manager's messages carry (IBA 12.6.7.2, 12.11.2.1, 12.7.8) and what they mean.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::cm {

// Why a connection was refused: `reason` of REJ.
namespace reason {
inline constexpr std::uint16_t kNoQp = 1, kNoResources = 3, kTimeout = 4, kUnsupported = 5, kInvalidId = 6,
                               kInvalidServiceId = 8, kInvalidTransport = 9, kStale = 10, kInvalidMtu = 26,
                               kConsumer = 28, kVendorOption = 35;
}  // namespace reason

// What became of a question for a datagram service: `status` of SIDR_REP.
namespace service_status {
inline constexpr std::uint8_t kSuccess = 0, kUnsupported = 1, kRejected = 2, kNoQp = 3;
}  // namespace service_status

// `status` of APR: this side has no alternate paths.
inline constexpr std::uint8_t kAlternatePathsUnsupported = 2;

// Times travel as exponents: 4.096 us * 2^n (IBA 12.7.34). `nanosecond`: in ticks of the world's clock.
constexpr Time time_of(std::uint8_t exponent, Time nanosecond) {
  return 4'096 * nanosecond << std::min<std::uint8_t>(exponent, 31);
}
static_assert(time_of(0, 1) == 4'096 && time_of(255, 1) == time_of(31, 1));

// How many bytes of private data a program may put into a message, or finds in an event.
inline constexpr std::size_t kRequestData = 56, kResponseData = 196, kRejectData = 148, kServiceRequestData = 180,
                             kServiceAnswerData = 136, kMaxPrivateData = 196;

}  // namespace weft::cm
