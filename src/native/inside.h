// The way into handles, for their implementation only.
#pragma once

#include <type_traits>

#include "native/device_state.h"
#include "weft/handle.h"

namespace weft::native {

struct Inside {
  template <class Owner, class Id>
  [[nodiscard]] static DeviceState* device(const detail::Handle<Owner, Id>& handle) {
    return handle.device_;
  }
  template <class Owner, class Id>
  [[nodiscard]] static Id id(const detail::Handle<Owner, Id>& handle) {
    return handle.id_;
  }
  // The handle of an object that has just been made.
  template <class Owner, class Id>
  [[nodiscard]] static Owner adopt(DeviceState& device, Id id) {
    ++device.objects;
    return Owner(device, id);
  }
  [[nodiscard]] static Device adopt(DeviceState& device) { return Device(device, device.index); }
  static void set_first_psn(QueuePair& qp, Psn psn) { qp.first_psn_ = psn; }
};

// host::Error and weft::Error are the same numbers.
inline tl::unexpected<Error> refuse(Error e) { return tl::unexpected<Error>(e); }
inline Result<> result_of(host::Error e) {
  return e == host::Error::none ? Result<>() : Result<>(refuse(static_cast<Error>(e)));
}

// The handle of what the device has made, or why it has not.
template <class Owner, class Id>
[[nodiscard]] Result<Owner> adopt(DeviceState& device, const host::Result<Id>& made) {
  if (!made) return refuse(static_cast<Error>(made.error()));
  if constexpr (std::is_same_v<Id, wire::Key>) {
    return Inside::adopt<Owner>(device, Key(made->raw()));
  } else {
    return Inside::adopt<Owner>(device, *made);
  }
}

// An object of the device is gone, if it is.
inline Result<> gone(DeviceState& device, host::Error e) {
  if (e == host::Error::none) --device.objects;
  return result_of(e);
}

}  // namespace weft::native
