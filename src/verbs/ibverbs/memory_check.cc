#include "verbs/ibverbs/memory_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

#include "verbs/ibverbs/host_address.h"

#ifndef MADV_POPULATE_READ  // Linux 5.14; the headers may be older than the kernel
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace weft::verbs {
namespace {

struct Pages {
  std::byte* first;
  std::size_t bytes;
};

Pages pages_of(std::byte* memory, std::size_t length) {
  const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = number_of(memory) & ~(size - 1);
  const std::uint64_t end = (number_of(memory) + length + size - 1) & ~(size - 1);
  return {place_of(first), end - first};
}

// Older kernels answer EINVAL to everything, newer ones to pages without the permission: asked about a page that is
// surely good, the two can be told apart.
bool kernel_populates() {
  static const bool answer = [] {
    std::byte here{};
    const Pages p = pages_of(&here, 1);
    return ::madvise(p.first, p.bytes, MADV_POPULATE_READ) == 0;
  }();
  return answer;
}

// Is there a mapping at all? The most that an older kernel can say.
bool is_mapped(Pages p) {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 1024> resident{};
  while (p.bytes > 0) {
    const std::size_t part = std::min(p.bytes, resident.size() * size);
    if (::mincore(p.first, part, resident.data()) != 0) return false;
    p.first += part;
    p.bytes -= part;
  }
  return true;
}

}  // namespace

int bring_in(std::byte* memory, std::size_t length, bool writable) {
  const Pages p = pages_of(memory, length);
  if (!kernel_populates()) return is_mapped(p) ? 0 : EFAULT;
  int result = 0;
  do {
    result = ::madvise(p.first, p.bytes, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  return result == 0 ? 0 : EFAULT;
}

}  // namespace weft::verbs
