#include "weft/shipped_kernels.h"

#include "native/kernel_shape.h"

extern "C" bool weft_shipped_kernel(const char* name, weft_kernel* kernel) {
  return name != nullptr && kernel != nullptr && weft::native::find_shipped(name, *kernel);
}

extern "C" std::uint64_t weft_checksum(const void* bytes, std::size_t count) {
  return weft::kernels::checksum({static_cast<const std::byte*>(bytes), count});
}
