// Writes its parameters behind the address that they begin with, and says how many bytes.
#include "weft/kernel.h"

WEFT_KERNEL_CODE("write")
enum weft_kernel_next write_it(struct weft_kernel_step* s) {
  if (s->event != WEFT_KERNEL_CALL || s->input_bytes < 8) return WEFT_KERNEL_FAILED;
  const uint64_t bytes = s->input_bytes - 8;
  if (!weft_kernel_write(s, *(const uint64_t*)s->input, s->input + 8, bytes)) return WEFT_KERNEL_FAILED;
  return weft_kernel_reply(s, &bytes, sizeof bytes) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}
