// What is known of a value before a program runs: whether it is a number or a pointer, and between which bounds it
// lies.
// Each function answers bounds that hold whatever the operands' values within theirs are.
#pragma once

#include <cstdint>

namespace weft::bytecode {

enum class BoundKind : std::uint8_t {
  nothing,  // no value, or not the same kind on every way
  number,   // least ... most, without a sign
  area,     // a pointer into the step's memory: so many bytes behind its begin, with a sign
  stack,    // a pointer to the stack: so many bytes from its end, which is known exactly
  lost,     // a pointer to nobody knows where: good for nothing
};

struct Bound {
  BoundKind kind = BoundKind::nothing;
  std::uint64_t least = 0, most = 0;  // of a number
  std::int64_t low = 0, high = 0;     // of a pointer

  static constexpr Bound number(std::uint64_t least, std::uint64_t most) {
    return {.kind = BoundKind::number, .least = least, .most = most};
  }
  static constexpr Bound exactly(std::uint64_t n) { return number(n, n); }
  static constexpr Bound any() { return number(0, ~std::uint64_t{0}); }
  static constexpr Bound area(std::int64_t low, std::int64_t high) {
    return {.kind = BoundKind::area, .low = low, .high = high};
  }
  static constexpr Bound stack(std::int64_t at) { return {.kind = BoundKind::stack, .low = at, .high = at}; }
  static constexpr Bound lost() { return {.kind = BoundKind::lost}; }

  [[nodiscard]] constexpr bool is_number() const { return kind == BoundKind::number; }
  [[nodiscard]] constexpr bool is_pointer() const {
    return kind == BoundKind::area || kind == BoundKind::stack || kind == BoundKind::lost;
  }
  [[nodiscard]] constexpr bool is_exact() const { return is_number() && least == most; }
  friend constexpr bool operator==(const Bound&, const Bound&) = default;
};

// Either of the two, where ways meet.
[[nodiscard]] Bound joined(const Bound& a, const Bound& b);

// Numbers; `operation` is one of alu::…, except mov and swap.
[[nodiscard]] Bound computed(std::uint8_t operation, const Bound& a, const Bound& b);

// A pointer into the area or to the stack, and a number that is added or taken away.
[[nodiscard]] Bound moved(const Bound& pointer, const Bound& by, bool back);

// What is left of a number where the jump is taken, or is not. Nothing: it never is.
struct Bounds2 {
  Bound a, b;
  bool possible = true;
};
[[nodiscard]] Bounds2 narrowed(std::uint8_t operation, bool taken, Bound a, Bound b);

}  // namespace weft::bytecode
