#include "world/real/far_memory.h"

#include <bit>

#include <sys/uio.h>

#include "world/real/clock.h"

namespace weft::real {

bool FarMemory::is_there() {
  const Time now = clock_now();
  std::uint64_t value = ~token_.value;
  if (token_.process == 0 || !copy(&value, token_.address, sizeof value) || value != token_.value) return false;
  seen_ = now;
  return true;
}

// The clock is read after the copy: who was stopped in between has to look again.
bool FarMemory::read(std::byte* to, std::uint64_t from, std::size_t bytes) {
  return copy(to, from, bytes) && (clock_now() - seen_ < kSure || is_there());
}

bool FarMemory::copy(void* to, std::uint64_t from, std::size_t bytes) const {
  const iovec here{to, bytes}, there{std::bit_cast<void*>(from), bytes};
  return process_vm_readv(token_.process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace weft::real
