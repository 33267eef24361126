// Why a request cannot be carried out, and what that means to the peer and to our own receive entry. One word, so that
// it returns in a register: put together on the stack from narrower ones, it would wait for all that was stored before
// it, the payload included.
#pragma once

#include <cstdint>

#include "nic/formats.h"
#include "wire/refusal.h"
#include "wire/syndrome.h"

namespace weft::nic {

class Admission {
 public:
  constexpr Admission() = default;
  constexpr Admission(Refusal r, wire::NakCode nak, Status status)
      : word_(static_cast<std::uint32_t>(r) | static_cast<std::uint32_t>(nak) << 8 |
              static_cast<std::uint32_t>(status) << 16) {}
  [[nodiscard]] constexpr Refusal refusal() const { return static_cast<Refusal>(word_ & 0xFF); }
  [[nodiscard]] constexpr wire::NakCode nak() const { return static_cast<wire::NakCode>(word_ >> 8 & 0xFF); }
  [[nodiscard]] constexpr Status status() const { return static_cast<Status>(word_ >> 16); }

 private:
  std::uint32_t word_ = 0;
};

// The peer is to try again later.
constexpr bool is_passing(Refusal r) { return r == Refusal::no_receive || r == Refusal::kernel_busy; }

constexpr Admission invalid(Refusal r) { return {r, wire::NakCode::invalid_request, Status::remote_invalid_request}; }
constexpr Admission denied(Refusal r) { return {r, wire::NakCode::remote_access, Status::remote_access}; }

}  // namespace weft::nic
