// What all handles have in common. A handle owns one object of a device: it can be moved, not copied, and destroys its
// object when it goes out of scope. Where handles stand in memory does not matter; objects refer to objects.
//
// The device refuses to destroy an object that others refer to (a domain with regions, a completion queue with queue
// pairs, a region with bound windows, a device with anything). Handles that go in the reverse order of their making, as
// local variables and members do, never meet that. close() answers Error::busy and leaves the object as it is; a
// destructor has no one to answer to, so it says what is wrong on stderr and aborts: nothing is leaked silently, and
// no handle is ever left without its object.
//
// An empty handle (default made, moved from, closed) answers Error::closed to every call that returns a Result; asking
// it for anything else is a mistake that aborts.
#pragma once

#include <utility>

#include "weft/error.h"

namespace weft::native {
struct DeviceState;
struct Inside;
}  // namespace weft::native

namespace weft::detail {

// Says what was done wrong, on stderr, and aborts.
[[noreturn]] void misuse(std::string_view what);
[[noreturn]] void cannot_destroy(std::string_view kind, Error why);

// `Owner` has kName and destroy(DeviceState&, Id).
template <class Owner, class Id>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : device_(std::exchange(other.device_, nullptr)), id_(other.id_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      end();
      device_ = std::exchange(other.device_, nullptr);
      id_ = other.id_;
    }
    return *this;
  }
  ~Handle() { end(); }

  // Does it hold an object?
  [[nodiscard]] explicit operator bool() const { return device_ != nullptr; }

  // Destroys the object now. Refused, nothing has changed; done, the handle is empty.
  [[nodiscard]] Result<> close() {
    if (device_ == nullptr) return tl::unexpected(Error::closed);
    Result<> done = Owner::destroy(*device_, id_);
    if (done) device_ = nullptr;
    return done;
  }

 protected:
  Handle(native::DeviceState& device, Id id) : device_(&device), id_(id) {}

  // For calls that return no Result.
  [[nodiscard]] native::DeviceState& device() const {
    if (device_ == nullptr) misuse("an empty handle was asked for something (closed or moved from)");
    return *device_;
  }
  [[nodiscard]] Id id() const { return (void)device(), id_; }

  native::DeviceState* device_ = nullptr;
  Id id_{};

 private:
  friend struct native::Inside;
  void end() noexcept {
    if (device_ == nullptr) return;
    if (const Result<> done = close(); !done) cannot_destroy(Owner::kName, done.error());
  }
};

}  // namespace weft::detail
