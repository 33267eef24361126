// Answers eight bytes of the server's memory, at the address that the call says.
#include "weft/kernel.h"

WEFT_KERNEL_CODE("where")
enum weft_kernel_next where_is_it(struct weft_kernel_step* s) {
  if (s->event == WEFT_KERNEL_CALL) return weft_kernel_read(s, *(const uint64_t*)s->input, 8);
  return weft_kernel_reply(s, s->input, s->input_bytes) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}
