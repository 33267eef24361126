// A number with a meaning of its own: a Qpn cannot be passed where a Key is wanted.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

namespace weft {

// `Bits` is the width on the wire; a value is cut to it when it is made, so it can always be encoded.
template <class Tag, std::unsigned_integral Rep, unsigned Bits = sizeof(Rep) * 8>
class Number {
 public:
  static constexpr unsigned kRepBits = sizeof(Rep) * 8;
  static constexpr Rep kMask = static_cast<Rep>(Bits == kRepBits ? ~Rep{0} : (Rep{1} << (Bits % kRepBits)) - 1);

  constexpr Number() = default;
  constexpr explicit Number(Rep value) : value_(static_cast<Rep>(value & kMask)) {}
  [[nodiscard]] constexpr Rep raw() const { return value_; }
  friend constexpr bool operator==(Number, Number) = default;

 private:
  Rep value_ = 0;
};

}  // namespace weft
