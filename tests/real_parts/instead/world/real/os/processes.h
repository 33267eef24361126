// In the place of src/world/real/os/processes.h: every lane of a scene is a process of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/uio.h>

#include "real_parts/stage.h"

namespace weft::real {

inline std::int32_t own_process() { return scene::own_process(); }
inline ssize_t read_memory_of(std::int32_t process, const iovec* to, const iovec* from, std::size_t count) {
  return scene::read_memory_of(process, to, from, count);
}

}  // namespace weft::real
