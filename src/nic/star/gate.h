// What a packet opens of a stateless card's memory: what its capability says, as far as the region itself still allows
// it. A packet that shows none has been checked by its sender's card, if this one trusts it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/core.h"
#include "wire/star.h"

namespace weft::nic {

template <World W>
class StarGate {
 public:
  explicit StarGate(Core<W>& core) : core_(core) {}

  // Where the packet's bytes are, if its capability opens them for this.
  [[nodiscard]] Refusal open(const wire::Packet& p, std::uint8_t any_of, std::uint32_t bytes, std::byte*& at) {
    if (wire::StarView::plain(p.headers)) return open_trusting(p, any_of, bytes, at);
    const wire::Capability c = wire::StarView::guard(p.headers).capability;
    const std::uint64_t address = p.headers.reth.address;
    if ((c.rights & any_of) == 0) return Refusal::star_not_granted;
    if (c.length != 0 && (address < c.base || address - c.base > c.length || bytes > c.length - (address - c.base))) {
      return Refusal::star_not_granted;
    }
    // The capability says who may use it: the gate is asked as the region's own domain and queue pair.
    const Region* region = core_.state.memory.find(c.key);
    const KeyUser who = region == nullptr ? KeyUser{} : KeyUser{region->domain, region->bound_qp};
    return core_.translate_for(who, c.key, rights_for(c.rights & any_of), address, bytes, at);
  }

 private:
  // It shows none, and its sender's card is trusted to have checked it: what is registered is open.
  [[nodiscard]] Refusal open_trusting(const wire::Packet& p, std::uint8_t any_of, std::uint32_t bytes, std::byte*& at) {
    using R = wire::StarRights;
    const std::uint64_t address = p.headers.reth.address;
    const bool writes = (any_of & (R::work_write | R::remote_atomic)) != 0;
    const Region* region = core_.state.memory.find_covering(address, bytes, writes);
    if (region == nullptr && bytes == 0) return Refusal::none;
    if (region == nullptr) {
      const bool is_readable = writes && core_.state.memory.find_covering(address, bytes, false) != nullptr;
      return is_readable ? Refusal::key_no_permission : Refusal::out_of_bounds;
    }
    const Rights want = writes ? Rights::local_write : Rights::none;
    return core_.translate_for({region->domain, region->bound_qp}, region->key, want, address, bytes, at);
  }
  // What the region itself must still allow.
  [[nodiscard]] static Rights rights_for(std::uint8_t granted) {
    using R = wire::StarRights;
    if ((granted & R::remote_write) != 0) return Rights::remote_write;
    if ((granted & R::remote_read) != 0) return Rights::remote_read;
    if ((granted & R::remote_atomic) != 0) return Rights::remote_atomic;
    return (granted & R::work_write) != 0 ? Rights::local_write : Rights::none;
  }

  Core<W>& core_;
};

}  // namespace weft::nic
