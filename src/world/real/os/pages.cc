#include "world/real/os/pages.h"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::real {
namespace {

constexpr int kPopulateRead = 22, kPopulateWrite = 23;  // MADV_POPULATE_*, Linux 5.14
constexpr std::size_t kAtOnce = 1U << 14;               // pages that mincore is asked about together

bool is_mapped(std::uintptr_t from, std::size_t bytes, std::size_t page) {
  std::vector<unsigned char> resident(kAtOnce);
  for (std::size_t done = 0; done < bytes; done += kAtOnce * page) {
    const std::size_t part = bytes - done < kAtOnce * page ? bytes - done : kAtOnce * page;
    // reinterpret_cast: an address that is computed, not pointed to.
    if (mincore(reinterpret_cast<void*>(from + done), part, resident.data()) != 0) return false;
  }
  return true;
}

// Older kernels answer EINVAL to everything, newer ones to pages without the permission: asked about a page that is
// surely good, the two can be told apart.
bool kernel_populates(std::size_t page) {
  static const bool answer = [&] {
    const std::byte here{};
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(&here) & ~(page - 1);
    return madvise(reinterpret_cast<void*>(at), page, kPopulateRead) == 0;
  }();
  return answer;
}

}  // namespace

bool pages_are_there(const std::byte* at, std::size_t bytes, bool writes) {
  if (bytes == 0) return true;
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (bytes > std::numeric_limits<std::uintptr_t>::max() - address - page) return false;
  const std::uintptr_t from = address & ~(page - 1), to = (address + bytes + page - 1) & ~(page - 1);
  if (!kernel_populates(page)) return is_mapped(from, to - from, page);
  int result = 0;
  do {
    result = madvise(reinterpret_cast<void*>(from), to - from, writes ? kPopulateWrite : kPopulateRead);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  return result == 0;
}

}  // namespace weft::real
