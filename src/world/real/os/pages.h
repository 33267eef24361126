// Is this memory the program's to read, or to write? Asked where the answer may be no: of memory that is registered,
// and before each access to an on-demand region. To touch it and see would end the program.
#pragma once

#include <cstddef>

namespace weft::real {

// Brings the pages in. True on kernels too old to say (before Linux 5.14), if they are mapped at all.
[[nodiscard]] bool pages_are_there(const std::byte* at, std::size_t bytes, bool writes);

}  // namespace weft::real
