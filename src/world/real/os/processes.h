// Who we are to the kernel, and what lies in the memory of another.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/uio.h>
#include <unistd.h>

namespace weft::real {

inline std::int32_t own_process() { return getpid(); }

// How many bytes were copied, or below 0.
inline ssize_t read_memory_of(std::int32_t process, const iovec* to, const iovec* from, std::size_t count) {
  return process_vm_readv(process, to, count, from, count, 0);
}

}  // namespace weft::real
