// Is memory there to be registered? A card would pin its pages; we have the kernel bring them in, which it refuses where
// there are none or where they may not be written to.
#pragma once

#include <cstddef>

namespace weft::verbs {

// 0, or EFAULT.
[[nodiscard]] int bring_in(std::byte* memory, std::size_t length, bool writable);

}  // namespace weft::verbs
