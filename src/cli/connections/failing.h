// How weft-connections ends when it cannot go on: a sentence, and exit code 1.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace weft::connections {

template <class... Values>
[[noreturn]] void give_up(fmt::format_string<Values...> sentence, Values&&... values) {
  fmt::print(stderr, "weft-connections: {}\n", fmt::format(sentence, std::forward<Values>(values)...));
  std::exit(1);  // not at once: --stats still has its say
}

// The object of a call that answers none when it fails, with errno.
template <class T>
T* must(T* object, const char* what) {
  if (object == nullptr) give_up("{}: {}", what, std::strerror(errno));
  return object;
}
inline void must(int code, const char* what) {
  if (code != 0) give_up("{}: {}", what, std::strerror(code));
}

}  // namespace weft::connections
