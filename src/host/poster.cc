#include "host/poster.h"

#include "host/device.h"
#include "host/write_work.h"

namespace weft::host {
namespace {

using nic::WorkKind;

// A WorkRequest as a Source (write_work.h).
struct Request {
  const WorkRequest& r;

  [[nodiscard]] std::uint64_t id() const { return r.id; }
  [[nodiscard]] WorkKind kind() const { return r.kind; }
  [[nodiscard]] std::uint8_t flags() const {
    return static_cast<std::uint8_t>(
        (r.signaled ? nic::WorkFlags::signaled : 0) | (r.solicited ? nic::WorkFlags::solicited : 0) |
        (r.fence ? nic::WorkFlags::fence : 0) | (r.is_inline ? nic::WorkFlags::inline_data : 0));
  }
  [[nodiscard]] std::span<const nic::Sge> sges() const { return r.sges; }
  [[nodiscard]] std::span<const nic::Fragment> pieces() const { return r.inline_data; }
  [[nodiscard]] const nic::AddressVector& to() const { return r.to; }

  void aim(nic::Work& w, nic::Context& c) const {
    const bool invalidates = r.kind == WorkKind::send_invalidate || r.kind == WorkKind::local_invalidate;
    w.immediate = invalidates ? r.invalidate.raw() : r.immediate;
    w.hop_limit = r.hop_limit;
    if (c.service == wire::Service::ud) {
      aim_datagram(w, c, r.to, r.service_level, r.remote_qpn, r.remote_qkey);
    } else if (r.kind == WorkKind::bind_window) {
      w.key = r.binding.window.raw();
      w.immediate = r.binding.new_key.raw();
      w.bind = {r.binding.address, r.binding.length, r.binding.region.raw(),
                static_cast<std::uint16_t>(r.binding.rights), 0};
    } else {
      w.key = r.remote_key.raw();
      w.remote = {r.remote_address, r.compare_add, r.swap};
    }
  }
};

}  // namespace

Error Poster::post(const WorkRequest& r) const {
  const Error e = write_work(*context, device->card().port, Request{r});
  if (e == Error::none) device->ring(*context);
  return e;
}

}  // namespace weft::host
