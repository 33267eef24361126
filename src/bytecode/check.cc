#include "bytecode/check.h"

#include <array>
#include <bitset>
#include <memory>
#include <utility>
#include <vector>

#include "bytecode/graph.h"
#include "bytecode/value.h"

namespace weft::bytecode {
namespace {

// What is known before an instruction. The stack is known by its bytes, and where a whole slot was written at once, by
// its value.
struct Known {
  std::array<Bound, kRegisters> registers{};
  std::bitset<kStackBytes> written;
  std::array<Bound, kStackBytes / 8> slots{};

  // Another way leads here.
  void join(const Known& o) {
    for (std::size_t i = 0; i < registers.size(); ++i) registers[i] = joined(registers[i], o.registers[i]);
    written &= o.written;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const bool pointer = slots[i].is_pointer() || o.slots[i].is_pointer();
      slots[i] = joined(slots[i], o.slots[i]);
      // What may be a pointer is not read as a number.
      if (pointer && !slots[i].is_pointer()) forget_slot(i);
    }
  }
  void forget_slot(std::size_t slot) {
    slots[slot] = {};
    for (std::size_t n = 0; n < 8; ++n) written[slot * 8 + n] = false;
  }
};

class Checker {
 public:
  Checker(std::span<const Instruction> program, std::uint32_t area_bytes)
      : program_(program), area_bytes_(area_bytes), before_(program.size()) {}

  BytecodeVerdict run() {
    std::vector<std::uint32_t> order;
    if (const BytecodeVerdict v = check_instructions(program_); v.fault != BytecodeFault::none) return v;
    if (const BytecodeVerdict v = sort_instructions(program_, order); v.fault != BytecodeFault::none) return v;
    before_[0] = std::make_unique<Known>();
    before_[0]->registers[1] = Bound::area(0, 0);
    before_[0]->registers[kFramePointer] = Bound::stack(0);
    for (const std::uint32_t at : order) {
      if (before_[at] == nullptr) continue;  // no value leads here
      known_ = std::move(before_[at]);
      if (const BytecodeFault f = step(at); f != BytecodeFault::none) return {f, at};
    }
    return {};
  }

 private:
  Bound& reg(std::uint32_t n) { return known_->registers[n]; }

  BytecodeFault step(std::uint32_t at) {
    const Instruction& i = program_[at];
    BytecodeFault fault = BytecodeFault::none;
    switch (i.group()) {
      case group::load_immediate: {
        const auto low = static_cast<std::uint32_t>(i.immediate);
        const auto high = static_cast<std::uint32_t>(program_[at + 1].immediate);
        reg(i.to()) = Bound::exactly(std::uint64_t{high} << 32 | low);
        break;
      }
      case group::load: fault = load(i); break;
      case group::store: fault = store(i, reg(i.from())); break;
      case group::store_immediate: fault = store(i, immediate_of(i)); break;
      case group::jump:
        if (i.operation() == jump::call) {
          fault = call(i.immediate);
          break;
        }
        if (i.operation() == jump::exit) return leave();
        if (i.operation() != jump::always) return branch(i, at);
        break;
      default: fault = compute(i); break;
    }
    if (fault == BytecodeFault::none) pass(followers_of(program_, at).at[0], std::move(known_));
    return fault;
  }
  void pass(std::uint32_t to, std::unique_ptr<Known> known) {
    if (before_[to] == nullptr) {
      before_[to] = std::move(known);
    } else {
      before_[to]->join(*known);
    }
  }

  // Sign-extended, as all instructions take it.
  static Bound immediate_of(const Instruction& i) {
    return Bound::exactly(static_cast<std::uint64_t>(static_cast<std::int64_t>(i.immediate)));
  }

  BytecodeFault compute(const Instruction& i) {
    Bound& to = reg(i.to());
    if (i.operation() == alu::swap) {
      if (to.kind == BoundKind::nothing) return BytecodeFault::undefined_register;
      if (!to.is_number()) return BytecodeFault::pointer_arithmetic;
      const std::uint64_t mask = i.immediate == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << i.immediate) - 1;
      to = Bound::number(0, mask);
      return BytecodeFault::none;
    }
    const Bound by = i.takes_register() && i.operation() != alu::neg ? reg(i.from()) : immediate_of(i);
    if (by.kind == BoundKind::nothing) return BytecodeFault::undefined_register;
    if (i.operation() == alu::mov) {
      to = by;
      return BytecodeFault::none;
    }
    if (to.kind == BoundKind::nothing) return BytecodeFault::undefined_register;
    if (to.is_pointer() || by.is_pointer()) return compute_pointer(i, to, by);
    const bool divides = i.operation() == alu::div || i.operation() == alu::mod;
    if (divides && by.least == 0) return BytecodeFault::division_by_zero;
    to = computed(i.operation(), to, by);
    return BytecodeFault::none;
  }
  static BytecodeFault compute_pointer(const Instruction& i, Bound& to, const Bound& by) {
    if (i.operation() != alu::add && i.operation() != alu::sub) return BytecodeFault::pointer_arithmetic;
    const bool back = i.operation() == alu::sub;
    if (by.is_number()) {
      to = moved(to, by, back);
    } else if (to.is_number() && !back) {
      to = moved(by, to, false);
    } else if (back && to.kind == BoundKind::area && by.kind == BoundKind::area) {
      to = Bound::any();  // how far apart they are, which tells nothing of where they are
    } else {
      return BytecodeFault::pointer_arithmetic;
    }
    return BytecodeFault::none;
  }

  [[nodiscard]] BytecodeFault reach(const Bound& base, const Instruction& i) const {
    switch (base.kind) {
      case BoundKind::nothing: return BytecodeFault::undefined_register;
      case BoundKind::number: return BytecodeFault::not_a_pointer;
      case BoundKind::area: {
        const std::int64_t low = base.low + i.offset, high = base.high + i.offset + i.bytes();
        return low >= 0 && high <= area_bytes_ ? BytecodeFault::none : BytecodeFault::out_of_bounds;
      }
      case BoundKind::stack: {
        const std::int64_t low = base.low + i.offset;
        return low >= -std::int64_t{kStackBytes} && low + i.bytes() <= 0 ? BytecodeFault::none
                                                                         : BytecodeFault::outside_of_stack;
      }
      default: return BytecodeFault::out_of_bounds;
    }
  }
  // Counted from the stack's lowest byte.
  static std::size_t place_of(const Bound& base, const Instruction& i) {
    return static_cast<std::size_t>(base.low + i.offset + kStackBytes);
  }

  BytecodeFault load(const Instruction& i) {
    const Bound base = reg(i.from());
    if (const BytecodeFault f = reach(base, i); f != BytecodeFault::none) return f;
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - 8 * i.bytes());
    if (base.kind == BoundKind::stack) {
      const std::size_t at = place_of(base, i);
      for (std::size_t n = 0; n < i.bytes(); ++n) {
        if (!known_->written[at + n]) return BytecodeFault::undefined_stack;
      }
      const Bound& slot = known_->slots[at / 8];
      const bool whole = at % 8 == 0 && i.bytes() == 8;
      if (whole && slot.kind != BoundKind::nothing) {
        reg(i.to()) = slot;
        return BytecodeFault::none;
      }
      if (slot.is_pointer() || known_->slots[(at + i.bytes() - 1) / 8].is_pointer())
        return BytecodeFault::pointer_arithmetic;
    }
    reg(i.to()) = Bound::number(0, most);
    return BytecodeFault::none;
  }

  BytecodeFault store(const Instruction& i, const Bound& value) {
    const Bound base = reg(i.to());
    if (value.kind == BoundKind::nothing) return BytecodeFault::undefined_register;
    if (const BytecodeFault f = reach(base, i); f != BytecodeFault::none) return f;
    if (base.kind == BoundKind::area) return value.is_pointer() ? BytecodeFault::pointer_stored : BytecodeFault::none;
    const std::size_t at = place_of(base, i);
    const bool whole = at % 8 == 0 && i.bytes() == 8;
    if (value.is_pointer() && !whole) return BytecodeFault::pointer_stored;
    for (std::size_t slot = at / 8; slot <= (at + i.bytes() - 1) / 8; ++slot) {
      if (known_->slots[slot].is_pointer()) known_->forget_slot(slot);
      known_->slots[slot] = {};
    }
    if (whole) known_->slots[at / 8] = value;
    for (std::size_t n = 0; n < i.bytes(); ++n) known_->written[at + n] = true;
    return BytecodeFault::none;
  }

  // Addresses, keys, offsets and lengths: the port checks them when it is called.
  BytecodeFault call(std::int32_t which) {
    for (std::uint32_t n = 1; n <= port::arguments_of(which); ++n) {
      if (reg(n).kind == BoundKind::nothing) return BytecodeFault::undefined_register;
      if (!reg(n).is_number()) return BytecodeFault::pointer_passed;
    }
    for (std::uint32_t n = 1; n <= 5; ++n) reg(n) = {};
    reg(0) = Bound::number(0, port::most_answer_of(which));
    return BytecodeFault::none;
  }

  BytecodeFault leave() {
    if (reg(0).kind == BoundKind::nothing) return BytecodeFault::undefined_register;
    return reg(0).is_number() ? BytecodeFault::none : BytecodeFault::pointer_returned;
  }

  BytecodeFault branch(const Instruction& i, std::uint32_t at) {
    const Followers next = followers_of(program_, at);
    const Bound a = reg(i.to()), b = i.takes_register() ? reg(i.from()) : immediate_of(i);
    if (a.kind == BoundKind::nothing || b.kind == BoundKind::nothing) return BytecodeFault::undefined_register;
    if (a.is_pointer() || b.is_pointer()) {
      if (a.kind != BoundKind::area || b.kind != BoundKind::area) return BytecodeFault::pointer_compared;
      auto other = std::make_unique<Known>(*known_);
      pass(next.at[0], std::move(other));
      pass(next.at[1], std::move(known_));
      return BytecodeFault::none;
    }
    for (const bool taken : {false, true}) {
      const Bounds2 left = narrowed(i.operation(), taken, a, b);
      if (!left.possible) continue;
      auto there = std::make_unique<Known>(*known_);
      there->registers[i.to()] = left.a;
      if (i.takes_register()) there->registers[i.from()] = left.b;
      pass(next.at[taken ? 1 : 0], std::move(there));
    }
    return BytecodeFault::none;
  }

  std::span<const Instruction> program_;
  std::int64_t area_bytes_;
  std::vector<std::unique_ptr<Known>> before_;
  std::unique_ptr<Known> known_;
};

}  // namespace

BytecodeVerdict check_program(std::span<const Instruction> program, std::uint32_t area_bytes) {
  return Checker(program, area_bytes).run();
}

}  // namespace weft::bytecode
