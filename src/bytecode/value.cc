#include "bytecode/value.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "bytecode/instruction.h"

namespace weft::bytecode {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::uint64_t kMostPositive = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFar = std::int64_t{1} << 32;  // nothing that a step reaches is so far away

// All bits below the highest one.
std::uint64_t filled(std::uint64_t n) { return n == 0 ? 0 : kAll >> std::countl_zero(n); }

// The ends wrap around together or not at all.
Bound wrapped(Wide least, Wide most) {
  if (least >> 64 != most >> 64) return Bound::any();
  return Bound::number(static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most));
}

Bound shifted_left(const Bound& a, const Bound& by) {
  if (!by.is_exact()) return Bound::any();
  const Wide most = Wide{a.most} << by.least;
  return most >> 64 != 0 ? Bound::any() : Bound::number(a.least << by.least, a.most << by.least);
}
Bound shifted_right(const Bound& a, const Bound& by) {
  if (!by.is_exact()) return Bound::number(0, a.most);
  return Bound::number(a.least >> by.least, a.most >> by.least);
}

Bound divided(const Bound& a, const Bound& by) {
  if (by.least == 0) return Bound::any();  // refused before
  return Bound::number(a.least / by.most, a.most / by.least);
}
Bound rest_of(const Bound& a, const Bound& by) {
  if (by.least == 0) return Bound::any();
  return a.most < by.least ? a : Bound::number(0, std::min(a.most, by.most - 1));
}

// Shifts by a register take the lowest bits of it, as processors do.
Bound count_of(const Bound& by) { return by.is_exact() ? Bound::exactly(by.least & 63) : Bound::number(0, 63); }

// a < b.
Bounds2 less(Bound a, Bound b) {
  if (b.most == 0 || a.least == kAll) return {a, b, false};
  a.most = std::min(a.most, b.most - 1);
  b.least = std::max(b.least, a.least + 1);
  return {a, b, a.least <= a.most && b.least <= b.most};
}
Bounds2 less_or_equal(Bound a, Bound b) {
  a.most = std::min(a.most, b.most);
  b.least = std::max(b.least, a.least);
  return {a, b, a.least <= a.most && b.least <= b.most};
}
Bounds2 swapped(const Bounds2& x) { return {x.b, x.a, x.possible}; }

Bounds2 equal(Bound a, Bound b) {
  const Bound both = Bound::number(std::max(a.least, b.least), std::min(a.most, b.most));
  return {both, both, both.least <= both.most};
}
Bounds2 unequal(Bound a, Bound b) {
  if (a.is_exact() && b.is_exact() && a.least == b.least) return {a, b, false};
  const auto without = [](Bound& v, const Bound& other) {
    if (!other.is_exact() || v.is_exact()) return;
    if (v.least == other.least) ++v.least;
    if (v.most == other.least) --v.most;
  };
  without(a, b);
  without(b, a);
  return {a, b, true};
}

// With signs. Numbers that are not negative compare as without; and what is larger than one of those is none either.
Bounds2 signed_less(Bound a, Bound b, bool or_equal) {
  const bool a_positive = a.most <= kMostPositive, b_positive = b.most <= kMostPositive;
  if (a_positive && b_positive) return or_equal ? less_or_equal(a, b) : less(a, b);
  const bool above_minus_one = !or_equal && a.is_exact() && a.least == kAll;
  if (above_minus_one) {
    b.most = std::min(b.most, kMostPositive);
    return {a, b, b.least <= b.most};
  }
  if (a_positive) {
    b.most = std::min(b.most, kMostPositive);
    if (b.least > b.most) return {a, b, false};
    return or_equal ? less_or_equal(a, b) : less(a, b);
  }
  return {a, b, true};
}

}  // namespace

Bound joined(const Bound& a, const Bound& b) {
  if (a.kind != b.kind) return {};
  if (a.is_number()) return Bound::number(std::min(a.least, b.least), std::max(a.most, b.most));
  if (a.kind == BoundKind::area) return Bound::area(std::min(a.low, b.low), std::max(a.high, b.high));
  if (a.kind == BoundKind::stack && a.low != b.low) return Bound::lost();
  return a;
}

Bound computed(std::uint8_t operation, const Bound& a, const Bound& b) {
  switch (operation) {
    case alu::add: return wrapped(Wide{a.least} + b.least, Wide{a.most} + b.most);
    case alu::sub: return wrapped((Wide{1} << 64) + a.least - b.most, (Wide{1} << 64) + a.most - b.least);
    case alu::mul:
      return (Wide{a.most} * b.most) >> 64 != 0 ? Bound::any() : Bound::number(a.least * b.least, a.most * b.most);
    case alu::div: return divided(a, b);
    case alu::mod: return rest_of(a, b);
    case alu::bit_and:
      return a.is_exact() && b.is_exact() ? Bound::exactly(a.least & b.least)
                                          : Bound::number(0, std::min(a.most, b.most));
    case alu::bit_or: return Bound::number(std::max(a.least, b.least), filled(a.most | b.most));
    case alu::bit_xor: return Bound::number(0, filled(a.most | b.most));
    case alu::lsh: return shifted_left(a, count_of(b));
    case alu::rsh: return shifted_right(a, count_of(b));
    case alu::arsh: return a.most <= kMostPositive ? shifted_right(a, count_of(b)) : Bound::any();
    case alu::neg: return a.is_exact() ? Bound::exactly(0 - a.least) : Bound::any();
    default: return Bound::any();
  }
}

Bound moved(const Bound& pointer, const Bound& by, bool back) {
  if (pointer.kind == BoundKind::lost) return pointer;
  const auto least = static_cast<std::int64_t>(by.least), most = static_cast<std::int64_t>(by.most);
  if (least > most || least < -kFar || most > kFar) return Bound::lost();
  const std::int64_t low = back ? pointer.low - most : pointer.low + least;
  const std::int64_t high = back ? pointer.high - least : pointer.high + most;
  if (low < -kFar || high > kFar) return Bound::lost();
  if (pointer.kind == BoundKind::stack) return low == high ? Bound::stack(low) : Bound::lost();
  return Bound::area(low, high);
}

Bounds2 narrowed(std::uint8_t operation, bool taken, Bound a, Bound b) {
  switch (operation) {
    case jump::eq: return taken ? equal(a, b) : unequal(a, b);
    case jump::ne: return taken ? unequal(a, b) : equal(a, b);
    case jump::lt: return taken ? less(a, b) : swapped(less_or_equal(b, a));
    case jump::le: return taken ? less_or_equal(a, b) : swapped(less(b, a));
    case jump::gt: return taken ? swapped(less(b, a)) : less_or_equal(a, b);
    case jump::ge: return taken ? swapped(less_or_equal(b, a)) : less(a, b);
    case jump::slt: return taken ? signed_less(a, b, false) : swapped(signed_less(b, a, true));
    case jump::sle: return taken ? signed_less(a, b, true) : swapped(signed_less(b, a, false));
    case jump::sgt: return taken ? swapped(signed_less(b, a, false)) : signed_less(a, b, true);
    case jump::sge: return taken ? swapped(signed_less(b, a, true)) : signed_less(a, b, false);
    default: return {a, b, true};
  }
}

}  // namespace weft::bytecode
