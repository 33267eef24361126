#include "kernels/traverse.h"

#include <cstring>

#include "kernels/value.h"

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

constexpr std::uint32_t kWord = 4, kKeyBytes = 8, kPointerBytes = 8;

struct State {
  TraverseCall call;
  Value value;
  bool found = false, descended = false;
};

bool holds(Predicate p, std::uint64_t sought, std::uint64_t there) {
  switch (p) {
    case Predicate::equal: return sought == there;
    case Predicate::less_than: return sought < there;
    case Predicate::greater_than: return sought > there;
    case Predicate::not_equal: return sought != there;
  }
  return false;
}

std::uint64_t word_of(const std::byte* element, std::uint32_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, element + at, sizeof word);
  return word;
}

// Does each key and pointer lie within an element?
bool makes_sense(const TraverseCall& c) {
  if (c.key_mask == 0 || c.predicate > Predicate::not_equal || c.last_predicate > Predicate::not_equal) return false;
  const auto fits = [](std::uint32_t words, std::uint32_t bytes) { return words * kWord + bytes <= kElementBytes; };
  if (c.has_next && !fits(c.next_position, kPointerBytes)) return false;
  for (std::uint32_t i = 0; i < 16; ++i) {
    if ((c.key_mask >> i & 1) == 0) continue;
    if (!fits(i, kKeyBytes) || !fits(c.value_position + (c.is_relative ? i : 0), kPointerBytes)) return false;
  }
  return true;
}

KernelNext look_at(State& s, KernelStep& step) {
  const TraverseCall& c = s.call;
  const Predicate predicate = c.levels == 0 && s.descended ? c.last_predicate : c.predicate;
  for (std::uint32_t i = 0; i < 16; ++i) {
    if ((c.key_mask >> i & 1) == 0 || !holds(predicate, c.key, word_of(step.input, i * kWord))) continue;
    const std::uint64_t pointer = word_of(step.input, (c.value_position + (c.is_relative ? i : 0)) * kWord);
    if (c.levels != 0) {
      --s.call.levels;
      s.descended = true;
      return pointer == 0 ? KernelNext::done : step.read(pointer, kElementBytes);
    }
    s.found = true;
    s.value = {pointer, c.value_bytes};
    return s.value.read(step);
  }
  const std::uint64_t next = c.has_next ? word_of(step.input, c.next_position * kWord) : 0;
  return next == 0 ? KernelNext::done : step.read(next, kElementBytes);
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) {
    if (step.input_bytes != sizeof(TraverseCall)) return KernelNext::failed;
    std::memcpy(&s.call, step.input, sizeof s.call);
    return makes_sense(s.call) ? step.read(s.call.address, kElementBytes) : KernelNext::failed;
  }
  if (step.event != KernelEvent::data) return KernelNext::failed;
  if (!s.found) return look_at(s, step);
  return s.value.answer(step);
}

}  // namespace

nic::Kernel traverse(std::uint32_t most_elements, std::uint32_t instances) {
  return {.opcode = kTraverse,
          .name = "traverse",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = most_elements,
          .instances = instances};
}

}  // namespace weft::kernels
