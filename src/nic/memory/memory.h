// The only gate to host memory. Every address that comes from the wire or from a work entry passes here,
// with a key, and leaves as a pointer or as a named refusal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/canary.h"
#include "base/zeroed_table.h"
#include "nic/memory/regions_by_address.h"
#include "nic/memory/translation.h"
#include "nic/rights.h"
#include "nic/slots.h"
#include "wire/refusal.h"
#include "wire/types.h"

namespace weft::nic {

enum class RegionKind : std::uint8_t { free, region, window_1, window_2 };

struct alignas(64) Region {
  std::uint64_t base = 0;  // first address, in the space that peers and work entries speak of
  std::uint64_t length = 0;
  std::byte* host = nullptr;  // where that is in this process
  wire::Key key{};
  std::uint32_t domain = 0;
  RegionKind kind = RegionKind::free;
  bool bound = false;  // windows: open onto a region
  Rights rights{};
  std::uint32_t parent = 0;   // windows: slot of the region below
  std::uint32_t windows = 0;  // regions: windows bound to it
  wire::Qpn bound_qp{};       // type 2 windows belong to a queue pair
  std::uint8_t page_shift = 12;
  const TranslationEntry* table = nullptr;  // in host memory, an entry for each page; nullptr: not needed
};
static_assert(sizeof(Region) == 64);

// Who asks: what the gate needs to know of a queue pair.
struct KeyUser {
  std::uint32_t domain = 0;
  wire::Qpn qpn{};
};

struct WindowBinding {
  wire::Key window{}, region{};
  std::uint64_t address = 0, length = 0;
  Rights rights{};
  wire::Key new_key{};
};

class MemoryGate {
 public:
  // A key is [tag | slot | 8 bits that a type 2 window's owner may choose]; `slot_bits` sets how many regions fit.
  // `by_address`: regions are to be found without their keys, too.
  explicit MemoryGate(std::uint32_t slot_bits, bool by_address = false)
      : slot_bits_(slot_bits), by_address_(by_address), regions_(1U << slot_bits), slots_(1U << slot_bits, 1) {}

  // -- the packet path --
  [[nodiscard]] Refusal translate(wire::Key key, KeyUser who, Rights want, std::uint64_t address, std::uint64_t length,
                                  std::byte*& out) const {
    const Region& r = regions_[slot_of(key)];
    if (r.key != key || r.kind == RegionKind::free) [[unlikely]]
      return why_unknown(r, key);
    if (r.kind != RegionKind::region) [[unlikely]] {
      if (!r.bound) return Refusal::window_unbound;
      if (r.kind == RegionKind::window_2 && r.bound_qp != who.qpn) return Refusal::key_wrong_qp;
    }
    if (r.domain != who.domain && !canary(Canary::gate_any_domain)) [[unlikely]]
      return Refusal::key_wrong_domain;
    if (!includes(r.rights, want)) [[unlikely]]
      return Refusal::key_no_permission;
    // Written so that nothing can wrap: an address at the very top of the space is as good as any other.
    const std::uint64_t size = canary(Canary::gate_one_too_many) ? r.length + 1 : r.length;
    if (address < r.base || address - r.base > size || length > size - (address - r.base)) [[unlikely]] {
      return Refusal::out_of_bounds;
    }
    out = r.host + (address - r.base);
    return Refusal::none;
  }

  // -- the control path --
  [[nodiscard]] Region* add_region(std::uint32_t domain, std::byte* host, std::uint64_t base, std::uint64_t length,
                                   Rights rights, std::uint64_t random);
  [[nodiscard]] Region* add_window(std::uint32_t domain, RegionKind type, std::uint64_t random);
  void set_rights(Region& region, Rights rights);
  // Another domain, and other rights; other bytes, or other addresses for them.
  void change(Region& region, std::uint32_t domain, Rights rights);
  void move(Region& region, std::byte* host, std::uint64_t base, std::uint64_t length);
  void set_table(Region& region, const TranslationEntry* table);
  void remove(Region& region);
  [[nodiscard]] Region* find(wire::Key key);
  // A region that has all of these bytes, and may be written if it `is_to_be_written`; nullptr: none.
  [[nodiscard]] const Region* find_covering(std::uint64_t address, std::uint64_t length, bool is_to_be_written) const;
  // The same object whatever variant its key has now: windows change theirs with every binding.
  [[nodiscard]] Region* find_variant(wire::Key key);

  // -- work that changes keys --
  // Opens a window onto a region, or closes it (length 0, type 1). The key changes to `new_key`.
  [[nodiscard]] Refusal bind(const WindowBinding& binding, KeyUser who);
  // Closes a type 2 window of this queue pair. Nothing else can be invalidated from user space.
  [[nodiscard]] Refusal invalidate(wire::Key key, KeyUser who);

  // Nothing here is on demand or has a translation table: whoever is let in needs to ask no further.
  [[nodiscard]] bool all_plain() const { return special_ == 0; }
  [[nodiscard]] bool is_on_demand(wire::Key key) const {
    return includes(regions_[slot_of(key)].rights, Rights::on_demand);
  }

  // The region that a good key opens, or onto which it opens a window.
  [[nodiscard]] const Region& below(wire::Key key) const {
    const Region& r = regions_[slot_of(key)];
    return r.kind == RegionKind::region ? r : regions_[r.parent];
  }
  [[nodiscard]] std::uint32_t slot_of(const Region& region) const { return regions_.slot_of(region); }

  // Calls visit(const Region&) for every region and window, in the order of their slots.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t slot = 0; slot < regions_.size(); ++slot) {
      if (regions_[slot].kind != RegionKind::free) visit(regions_[slot]);
    }
  }

  // How often something that a key opened has been closed, and has become something else under the same key.
  [[nodiscard]] std::uint32_t closings() const { return closings_; }
  [[nodiscard]] std::uint32_t changes() const { return changes_; }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(regions_.size()); }

 private:
  [[nodiscard]] std::uint32_t slot_of(wire::Key key) const { return (key.raw() >> 8) & ((1U << slot_bits_) - 1); }
  [[nodiscard]] static Refusal why_unknown(const Region& r, wire::Key key);
  [[nodiscard]] Region* make(std::uint64_t random);
  void unbind(Region& window);
  void list(const Region& region);
  void unlist(const Region& region);

  std::uint32_t slot_bits_;
  bool by_address_;
  std::uint32_t special_ = 0;  // regions that are on demand, and those that have a table
  ZeroedTable<Region> regions_;
  Slots slots_;
  std::uint32_t closings_ = 0, changes_ = 0;
  RegionsByAddress all_, writable_;  // if they are to be found by address
};

}  // namespace weft::nic
