#include "host/poster.h"

#include <cstring>
#include <new>

#include "host/device.h"
#include "nic/scatter_gather.h"

namespace weft::host {
namespace {

using nic::QpState;
using nic::WorkKind;

Error judge(const nic::Context& c, const nic::Port& port, const WorkRequest& r, std::uint64_t& length) {
  if (r.sges.size() > c.max_send_sges) return Error::invalid_argument;
  length = 0;
  if (r.is_inline) {
    for (const nic::Fragment& f : r.inline_data) length += f.bytes;
    if (length > c.max_inline) return Error::invalid_argument;
    if (nic::reads_back(r.kind) || nic::is_local(r.kind)) return Error::invalid_argument;
  } else {
    // Most work has one element, and a vectorized loop costs more to enter than that.
    if (r.sges.size() == 1) {
      length = r.sges[0].length;
    } else {
      for (const nic::Sge& s : r.sges) length += s.length;
    }
  }
  if (length > 1ULL << 31) return Error::invalid_argument;
  switch (c.service) {
    case wire::Service::ud:
      if (r.kind != WorkKind::send && r.kind != WorkKind::send_immediate) return Error::invalid_argument;
      return port.reaches(r.to.destination, r.to.gid_index) ? Error::none : Error::invalid_argument;
    case wire::Service::uc:
      if (nic::reads_back(r.kind) || r.kind == WorkKind::send_invalidate) return Error::invalid_argument;
      break;
    default: break;
  }
  if (nic::is_atomic(r.kind) && length != 8) return Error::invalid_argument;
  return Error::none;
}

}  // namespace

Error Poster::post(const WorkRequest& r) const {
  nic::Context& c = *context;
  if (c.state == QpState::reset || c.state == QpState::init || c.state == QpState::rtr) return Error::bad_state;
  std::uint64_t length = 0;
  if (const Error e = judge(c, device->card().port, r, length); e != Error::none) return e;
  if (c.sq_posted - c.sq_done == 1U << c.sq_shift) return Error::queue_full;

  std::byte* entry = nic::ring_entry(c.sq, c.sq_posted, c.sq_shift, c.sq_stride);
  nic::Work& w = *new (entry) nic::Work;  // in place: built elsewhere and copied, it would stall on its own bytes
  w.id = r.id;
  w.kind = r.kind;
  w.flags = static_cast<std::uint8_t>(
      (r.signaled ? nic::WorkFlags::signaled : 0) | (r.solicited ? nic::WorkFlags::solicited : 0) |
      (r.fence ? nic::WorkFlags::fence : 0) | (r.is_inline ? nic::WorkFlags::inline_data : 0));
  w.sges = r.is_inline ? 0 : static_cast<std::uint8_t>(r.sges.size());
  w.length = static_cast<std::uint32_t>(length);
  w.hop_limit = r.hop_limit;
  const bool invalidates = r.kind == WorkKind::send_invalidate || r.kind == WorkKind::local_invalidate;
  w.immediate = invalidates ? r.invalidate.raw() : r.immediate;
  if (c.service == wire::Service::ud) {
    w.key = r.remote_qpn.raw();
    w.datagram = {r.to, r.remote_qkey.raw()};
    c.service_level = static_cast<std::uint8_t>(r.service_level % nic::kServiceLevels);
  } else if (r.kind == WorkKind::bind_window) {
    w.key = r.binding.window.raw();
    w.immediate = r.binding.new_key.raw();
    w.bind = {r.binding.address, r.binding.length, r.binding.region.raw(), static_cast<std::uint16_t>(r.binding.rights),
              0};
  } else {
    w.key = r.remote_key.raw();
    w.remote = {r.remote_address, r.compare_add, r.swap};
  }
  std::byte* tail = entry + sizeof w;
  if (r.is_inline) {
    for (const nic::Fragment& f : r.inline_data) {
      std::memcpy(tail, f.data, f.bytes);
      tail += f.bytes;
    }
  } else if (!r.sges.empty()) {
    std::memcpy(tail, r.sges.data(), r.sges.size_bytes());
  }
  ++c.sq_posted;
  device->ring(c);
  return Error::none;
}

}  // namespace weft::host
