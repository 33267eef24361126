// Why the host's software says no to its own program. Errors are values.
#pragma once

#include <cstdint>
#include <string_view>

#include <tl/expected.hpp>

namespace weft::host {

enum class Error : std::uint8_t {
  none,
  invalid_argument,   // a value outside what the call takes
  limit_exceeded,     // more than the device's limits allow
  table_full,         // no slot left for one more object
  queue_full,         // the ring has no room for this work
  busy,               // other objects still refer to this one
  wrong_domain,       // objects of different protection domains
  bad_transition,     // the queue pair cannot go from its state to that one
  missing_attribute,  // the transition needs an attribute that is not in the mask
  extra_attribute,    // the mask has an attribute that the transition does not take
  bad_state,          // the queue pair takes no such work in its state
  not_supported,
};

constexpr std::string_view text(Error e) {
  constexpr std::string_view texts[] = {"no error",
                                        "invalid argument",
                                        "exceeds the device's limits",
                                        "no slot left in the device's table",
                                        "queue is full",
                                        "object is still in use",
                                        "objects belong to different protection domains",
                                        "no such transition from this state",
                                        "the transition requires an attribute that is missing",
                                        "the transition does not take one of the attributes",
                                        "not possible in the queue pair's state",
                                        "not supported by this device"};
  return texts[static_cast<std::size_t>(e)];
}

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error e) { return tl::unexpected<Error>(e); }

}  // namespace weft::host
