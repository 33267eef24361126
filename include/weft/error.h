// Why a call was refused. Errors are values: every call that can be refused returns a Result, and nothing throws.
//
//   if (auto region = domain.register_memory(bytes); !region) std::puts(text(region.error()).data());
//
// A program that could not go on anyway says must():
//
//   weft::Region region = weft::must(domain.register_memory(bytes));
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace weft {

enum class Error : std::uint8_t {
  invalid_argument = 1,  // a value outside what the call takes, or an object of another device
  limit_exceeded,        // more than the device's limits allow
  table_full,            // no slot left for one more object
  queue_full,            // the queue has no room for this work: poll completions, then post again
  busy,                  // other objects still refer to this one: close them first
  wrong_domain,          // objects of different protection domains
  bad_transition,        // the queue pair cannot go from its state to that one
  missing_attribute,     // the transition needs an attribute that is not in the mask
  extra_attribute,       // the mask has an attribute that the transition does not take
  bad_state,             // the queue pair takes no such work in its state
  not_supported,
  closed,  // the handle is empty: closed, moved from, or never opened
};

// A sentence for people, without a full stop. It ends with a zero byte.
[[nodiscard]] std::string_view text(Error error);

template <class T = void>
using Result = tl::expected<T, Error>;

namespace detail {
[[noreturn]] void refused(Error error, const char* file, int line);
}

// The value; or, if there is none, says why and where on stderr, and aborts.
template <class T>
T must(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result) detail::refused(result.error(), file, line);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace weft
