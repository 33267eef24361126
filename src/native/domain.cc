#include "weft/domain.h"

#include "native/convert.h"
#include "native/inside.h"
#include "native/region_address.h"

namespace weft {

using native::Inside;
using native::refuse;

Result<> Domain::destroy(native::DeviceState& device, std::uint32_t domain) {
  return native::gone(device, device.device->destroy_domain(domain));
}

Result<Region> Domain::register_memory(std::span<std::byte> memory, const RegionOptions& options) {
  if (device_ == nullptr) return refuse(Error::closed);
  const host::RegionOptions o{.memory = memory.data(),
                              .length = memory.size(),
                              .address = native::choose_address(*device_, memory, options.address),
                              .rights = native::ours(options.access)};
  return native::adopt<Region>(*device_, device_->device->register_region(id_, o));
}

Result<Window> Domain::create_window(WindowType type) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::adopt<Window>(*device_, device_->device->create_window(id_, static_cast<int>(type)));
}

Result<SharedReceiveQueue> Domain::create_shared_receive_queue(const SharedReceiveQueueOptions& options) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::adopt<SharedReceiveQueue>(*device_,
                                           device_->device->create_srq(id_, options.entries, options.max_sges));
}

Result<QueuePair> Domain::create_queue_pair(const QueuePairOptions& o) {
  if (device_ == nullptr) return refuse(Error::closed);
  const CompletionQueue* receive_cq = o.receive_cq != nullptr ? o.receive_cq : o.send_cq;
  if (o.send_cq == nullptr || Inside::device(*o.send_cq) != device_ || Inside::device(*receive_cq) != device_ ||
      (o.srq != nullptr && Inside::device(*o.srq) != device_)) {
    return refuse(Error::invalid_argument);
  }
  static_assert(static_cast<int>(StarRole::stateful) == static_cast<int>(host::StarRole::stateful));
  const host::QpOptions options{.service = static_cast<wire::Service>(o.service),
                                .signal_all = o.signal_all,
                                .limits = {.send_entries = o.limits.send_entries,
                                           .receive_entries = o.limits.receive_entries,
                                           .send_sges = o.limits.send_sges,
                                           .receive_sges = o.limits.receive_sges,
                                           .inline_bytes = o.limits.inline_bytes},
                                .send_cq = Inside::id(*o.send_cq),
                                .receive_cq = Inside::id(*receive_cq),
                                .srq = o.srq != nullptr ? Inside::id(*o.srq) : nullptr,
                                .role = static_cast<host::StarRole>(o.role),
                                .serves_calls = o.serves_calls,
                                .local_calls = o.local_calls,
                                .may_call = o.calls};
  auto made = native::adopt<QueuePair>(*device_, device_->device->create_qp(id_, options));
  if (made) Inside::set_first_psn(*made, native::theirs(device_->device->random_psn()));
  return made;
}

Result<AddressHandle> Domain::create_address_handle(const AddressHandle& a) const {
  if (device_ == nullptr) return refuse(Error::closed);
  if (!device_->device->card().port.reaches(native::ours(a.destination), a.gid_index)) {
    return refuse(Error::invalid_argument);
  }
  return a;
}

}  // namespace weft
