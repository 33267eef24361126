// How verbs says no: functions that return a number return errno's; those that return a pointer set errno.
#pragma once

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

#include "host/error.h"

namespace weft::verbs {

// Outside of the function: inside, it would be built on the stack by each call.
inline constexpr int kErrnoCodes[] = {
    0,           // none
    EINVAL,      // invalid_argument
    EINVAL,      // limit_exceeded
    ENOMEM,      // table_full
    ENOMEM,      // queue_full
    EBUSY,       // busy
    EINVAL,      // wrong_domain
    EINVAL,      // bad_transition
    EINVAL,      // missing_attribute
    EINVAL,      // extra_attribute
    EINVAL,      // bad_state
    EOPNOTSUPP,  // not_supported
};
static_assert(std::size(kErrnoCodes) == static_cast<std::size_t>(host::Error::not_supported) + 1);

constexpr int errno_of(host::Error e) { return kErrnoCodes[static_cast<std::size_t>(e)]; }
static_assert(errno_of(host::Error::queue_full) == ENOMEM && errno_of(host::Error::busy) == EBUSY);

// For calls that return a pointer.
inline std::nullptr_t refuse(int code) {
  errno = code;
  return nullptr;
}
inline std::nullptr_t refuse(host::Error e) { return refuse(errno_of(e)); }

// For the few that return -1 and set errno.
inline int minus_one(int code) {
  errno = code;
  return -1;
}

// Makes something for a program that knows no exceptions.
template <class Make>
auto attempt(Make&& make) noexcept -> decltype(make()) {
  try {
    return std::forward<Make>(make)();
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  } catch (...) {
    return refuse(EIO);
  }
}

}  // namespace weft::verbs
