#include "weft/region.h"

#include <bit>

#include "native/convert.h"
#include "native/inside.h"
#include "native/region_address.h"
#include "weft/domain.h"

namespace weft {
namespace {

using native::Inside;
using native::refuse;

// The card's entry for a handle that holds an object: it is always there.
const nic::Region& entry(native::DeviceState& device, Key key) {
  const nic::Region* found = device.device->card().memory.find_variant(native::ours(key));
  if (found == nullptr) detail::misuse("a region or window is gone while its handle lives");
  return *found;
}

}  // namespace

namespace native {

std::uint64_t choose_address(DeviceState& device, std::span<std::byte> memory, std::optional<std::uint64_t> asked) {
  if (asked) return *asked;
  if (device.next_address == 0) return std::bit_cast<std::uintptr_t>(memory.data());
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t address = device.next_address;
  device.next_address += (memory.size() + 2 * kPage - 1) / kPage * kPage;  // a page of nothing between two regions
  return address;
}

}  // namespace native

Result<> Region::destroy(native::DeviceState& device, Key key) {
  return native::gone(device, device.device->deregister_region(native::ours(key)));
}

Key Region::key() const { return id(); }
std::uint64_t Region::address() const { return entry(device(), id_).base; }
std::uint64_t Region::length() const { return entry(device(), id_).length; }
Access Region::access() const { return native::theirs(entry(device(), id_).rights); }
std::span<std::byte> Region::bytes() const {
  const nic::Region& r = entry(device(), id_);
  return {r.host, r.length};
}

Result<> Region::reregister(const Change& change) {
  if (device_ == nullptr) return refuse(Error::closed);
  if (change.address && !change.memory) return refuse(Error::invalid_argument);
  std::optional<host::Domain> domain;
  if (change.domain != nullptr) {
    if (Inside::device(*change.domain) != device_) return refuse(Error::invalid_argument);
    domain = Inside::id(*change.domain);
  }
  std::optional<nic::Rights> rights;
  if (change.access) rights = native::ours(*change.access);
  host::RegionOptions translation;
  if (change.memory) {
    translation.memory = change.memory->data();
    translation.length = change.memory->size();
    translation.address = native::choose_address(*device_, *change.memory, change.address);
  }
  return native::result_of(
      device_->device->reregister_region(native::ours(id_), domain, change.memory ? &translation : nullptr, rights));
}

Result<> Window::destroy(native::DeviceState& device, Key key) {
  return native::gone(device, device.device->destroy_window(entry(device, key).key));
}

Key Window::key() const { return native::theirs(entry(device(), id_).key); }
bool Window::bound() const { return entry(device(), id_).bound; }

}  // namespace weft
