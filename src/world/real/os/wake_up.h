// An eventfd by which a program that sleeps is woken.
#pragma once

#include <array>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace weft::real {

// Is this one? Another program says so, and whoever wakes it writes there: into a file that would be damage, and into a
// pipe that is full it would wait for ever. An eventfd whose count is full is told not to let us wait, either.
inline bool is_wake_up(int fd) {
  constexpr std::string_view kEventfd = "anon_inode:[eventfd]";
  std::array<char, 64> name{};
  const ssize_t bytes = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), name.data(), name.size());
  if (bytes < 0 || std::string_view(name.data(), static_cast<std::size_t>(bytes)) != kEventfd) return false;
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace weft::real
