// What bytecode cannot have: constants in memory, and functions that are not inlined.
#include "weft/kernel.h"

static const uint32_t kTable[256] = {1, 2, 3, 5, 8, 13};
__attribute__((noinline)) static uint32_t twice(uint32_t n) { return 2 * n; }

WEFT_KERNEL_CODE("constant")
enum weft_kernel_next constant(struct weft_kernel_step* s) {
  const uint32_t n = kTable[s->input[0]];
  return weft_kernel_reply(s, &n, sizeof n) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}
WEFT_KERNEL_CODE("function")
enum weft_kernel_next function(struct weft_kernel_step* s) {
  const uint32_t n = twice(s->input[0]);
  return weft_kernel_reply(s, &n, sizeof n) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}
