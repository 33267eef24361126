// What is asked before a READ, atomic or WRITE of the peer's is carried out, in both dialects: the connection's rights,
// lengths, keys. Each check exists once, here.
#pragma once

#include "nic/core.h"
#include "nic/host_memory.h"
#include "nic/rc/admission.h"

namespace weft::nic {

// May the peer do this to the memory that it names? `at` is where that is. An access to nothing needs no key.
template <World W>
[[nodiscard]] Refusal check_access(Core<W>& core, const Context& c, const wire::Reth& reth, Rights want,
                                   std::byte*& at) {
  return reth.length == 0 ? Refusal::none : core.translate(c, reth.key, want, reth.address, reth.length, at);
}

template <World W>
[[nodiscard]] Admission admit_write(Core<W>& core, const Context& c, const wire::Reth& reth, std::byte*& at) {
  if (!includes(c.rights, Rights::remote_write)) return invalid(Refusal::operation_not_allowed);
  if (reth.length > kMaxMessage) return invalid(Refusal::too_long);
  const Refusal why = check_access(core, c, reth, Rights::remote_write, at);
  return why == Refusal::none ? Admission{} : denied(why);
}

template <World W>
[[nodiscard]] Admission admit_read(Core<W>& core, const Context& c, const wire::Reth& reth) {
  if (!includes(c.rights, Rights::remote_read)) return invalid(Refusal::operation_not_allowed);
  if (reth.length > kMaxMessage) return invalid(Refusal::too_long);
  std::byte* unused = nullptr;
  const Refusal why = check_access(core, c, reth, Rights::remote_read, unused);
  return why == Refusal::none ? Admission{} : denied(why);
}
// What the responses to a READ that was admitted are made of.
inline void grant_read(SavedResponse& s, const wire::Reth& reth) {
  s.address = reth.address;
  s.key = reth.key;
  s.length = reth.length;
}

// `word` is what the atomic changes.
template <World W>
[[nodiscard]] Admission admit_atomic(Core<W>& core, const Context& c, const wire::AtomicEth& eth,
                                     std::uint64_t*& word) {
  if (!includes(c.rights, Rights::remote_atomic)) return invalid(Refusal::operation_not_allowed);
  if (eth.address % 8 != 0) return invalid(Refusal::misaligned_atomic);
  std::byte* at = nullptr;
  const Refusal why = core.translate(c, eth.key, Rights::remote_atomic, eth.address, 8, at);
  if (why != Refusal::none) return denied(why);
  word = word_at(at);
  return word == nullptr ? invalid(Refusal::misaligned_atomic) : Admission{};
}
// Carries out an atomic that was admitted.
template <World W>
void grant_atomic(Core<W>& core, SavedResponse& s, std::uint64_t& word, const wire::AtomicEth& eth, bool adds) {
  s.atomic = true;
  s.original = swap_or_add(core, word, eth, adds);
}

}  // namespace weft::nic
