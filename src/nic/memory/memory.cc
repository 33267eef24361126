#include "nic/memory/memory.h"

#include <cassert>

namespace weft::nic {

Region* MemoryGate::make(std::uint64_t random) {
  if (slots_.empty()) return nullptr;
  const std::uint32_t slot = slots_.take(random >> 32);
  const wire::Key last = regions_[slot].key;
  Region& r = regions_.make(slot);
  const auto noise = static_cast<std::uint32_t>(random);
  const std::uint32_t slot_mask = ((1U << slot_bits_) - 1) << 8;
  r.key = wire::Key((noise & ~slot_mask) | slot << 8);
  if (r.key == last) r.key = wire::Key(last.raw() ^ 1);  // who still holds the old one must not get in
  return &r;
}

Region* MemoryGate::add_region(std::uint32_t domain, std::byte* host, std::uint64_t base, std::uint64_t length,
                               Rights rights, std::uint64_t random) {
  Region* r = make(random);
  if (r == nullptr) return nullptr;
  r->kind = RegionKind::region;
  r->domain = domain;
  r->host = host;
  r->base = base;
  r->length = length;
  set_rights(*r, rights);
  return r;
}

void MemoryGate::set_rights(Region& region, Rights rights) {
  unlist(region);
  if (includes(region.rights, Rights::on_demand)) --special_;
  region.rights = rights;
  if (includes(region.rights, Rights::on_demand)) ++special_;
  list(region);
}

void MemoryGate::change(Region& region, std::uint32_t domain, Rights rights) {
  ++changes_;
  region.domain = domain;
  set_rights(region, rights);
}

void MemoryGate::move(Region& region, std::byte* host, std::uint64_t base, std::uint64_t length) {
  ++changes_;
  unlist(region);
  region.host = host;
  region.base = base;
  region.length = length;
  list(region);
}

void MemoryGate::list(const Region& region) {
  if (!by_address_ || region.kind != RegionKind::region) return;
  all_.add(region.base, region.length, regions_.slot_of(region));
  if (includes(region.rights, Rights::local_write)) {
    writable_.add(region.base, region.length, regions_.slot_of(region));
  }
}

void MemoryGate::unlist(const Region& region) {
  if (!by_address_ || region.kind != RegionKind::region) return;
  all_.remove(region.base, regions_.slot_of(region));
  writable_.remove(region.base, regions_.slot_of(region));
}

void MemoryGate::set_table(Region& region, const TranslationEntry* table) {
  if (region.table != nullptr) --special_;
  region.table = table;
  if (region.table != nullptr) ++special_;
}

Region* MemoryGate::add_window(std::uint32_t domain, RegionKind type, std::uint64_t random) {
  assert(type == RegionKind::window_1 || type == RegionKind::window_2);
  Region* r = make(random);
  if (r == nullptr) return nullptr;
  r->kind = type;
  r->domain = domain;
  return r;
}

void MemoryGate::remove(Region& region) {
  assert(region.windows == 0 && "the host refuses to remove a region with windows");
  ++closings_;
  if (region.bound) unbind(region);
  set_rights(region, Rights::none);
  unlist(region);
  set_table(region, nullptr);
  const std::uint32_t slot = regions_.slot_of(region);
  const wire::Key last = region.key;
  regions_.erase(slot);
  regions_[slot].key = last;  // a free slot remembers its last key
  slots_.give_back(slot);
}

Region* MemoryGate::find(wire::Key key) {
  Region& r = regions_[slot_of(key)];
  return r.kind != RegionKind::free && r.key == key ? &r : nullptr;
}

const Region* MemoryGate::find_covering(std::uint64_t address, std::uint64_t length, bool is_to_be_written) const {
  const auto slot = (is_to_be_written ? writable_ : all_).find(address, length);
  return slot ? &regions_[*slot] : nullptr;
}

Region* MemoryGate::find_variant(wire::Key key) {
  Region& r = regions_[slot_of(key)];
  return r.kind != RegionKind::free && (r.key.raw() ^ key.raw()) <= 0xFF ? &r : nullptr;
}

Refusal MemoryGate::why_unknown(const Region& r, wire::Key key) {
  // The last key of a slot that is free now, or a window's key before its last binding. Key 0 was never given.
  const bool last = r.kind == RegionKind::free && r.key == key && key.raw() != 0;
  const bool window = r.kind == RegionKind::window_1 || r.kind == RegionKind::window_2;
  const bool rebound = window && (r.key.raw() ^ key.raw()) <= 0xFF;
  return last || rebound ? Refusal::key_stale : Refusal::key_unknown;
}

void MemoryGate::unbind(Region& window) {
  ++closings_;
  regions_[window.parent].windows -= 1;
  window.bound = false;
  set_rights(window, Rights::none);
  window.bound_qp = wire::Qpn{};
}

Refusal MemoryGate::bind(const WindowBinding& b, KeyUser who) {
  Region* window = find(b.window);
  if (window == nullptr || window->kind == RegionKind::region) return Refusal::key_unknown;
  if (window->domain != who.domain) return Refusal::key_wrong_domain;
  const bool type_2 = window->kind == RegionKind::window_2;
  if (type_2 && window->bound) return Refusal::bad_invalidate;  // must be invalidated before it is bound again
  if ((b.new_key.raw() ^ b.window.raw()) > 0xFF) return Refusal::key_unknown;  // only the low byte is the owner's
  if (b.length == 0) {
    if (type_2) return Refusal::out_of_bounds;
    if (window->bound) unbind(*window);
    window->key = b.new_key;
    return Refusal::none;
  }
  Region* below = find(b.region);
  if (below == nullptr || below->kind != RegionKind::region) return Refusal::key_unknown;
  if (below->domain != who.domain) return Refusal::key_wrong_domain;
  if (!includes(below->rights, Rights::bind_window)) return Refusal::key_no_permission;
  const bool writes = any(b.rights & (Rights::remote_write | Rights::remote_atomic));
  if (writes && !includes(below->rights, Rights::local_write)) return Refusal::key_no_permission;
  if (b.address < below->base || b.address - below->base > below->length ||
      b.length > below->length - (b.address - below->base)) {
    return Refusal::out_of_bounds;
  }
  if (window->bound) unbind(*window);
  window->key = b.new_key;
  window->host = below->host + (b.address - below->base);
  window->base = includes(b.rights, Rights::zero_based) ? 0 : b.address;
  window->length = b.length;
  set_rights(*window, (b.rights & kRemoteRights) | (below->rights & Rights::on_demand));
  window->parent = regions_.slot_of(*below);
  window->bound = true;
  window->bound_qp = type_2 ? who.qpn : wire::Qpn{};
  below->windows += 1;
  return Refusal::none;
}

Refusal MemoryGate::invalidate(wire::Key key, KeyUser who) {
  Region* window = find(key);
  if (window == nullptr || window->kind != RegionKind::window_2) return Refusal::bad_invalidate;
  if (!window->bound || window->bound_qp != who.qpn || window->domain != who.domain) return Refusal::bad_invalidate;
  unbind(*window);
  return Refusal::none;
}

}  // namespace weft::nic
