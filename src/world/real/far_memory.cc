#include "world/real/far_memory.h"

#include <array>
#include <bit>

#include <sys/uio.h>

namespace weft::real {

// The kernel finds the process once for each call, so a token that is right says whose the other bytes are.
bool FarMemory::read(std::byte* to, std::uint64_t from, std::size_t bytes) const {
  if (token_.process == 0) return false;
  std::uint64_t seen = ~token_.value;
  const std::array<iovec, 2> here{iovec{&seen, sizeof seen}, iovec{to, bytes}};
  const std::array<iovec, 2> there{iovec{std::bit_cast<void*>(token_.address), sizeof seen},
                                   iovec{std::bit_cast<void*>(from), bytes}};
  const unsigned long pieces = bytes > 0 ? 2 : 1;
  const ssize_t got = process_vm_readv(token_.process, here.data(), pieces, there.data(), pieces, 0);
  return got == static_cast<ssize_t>(sizeof seen + bytes) && seen == token_.value;
}

}  // namespace weft::real
