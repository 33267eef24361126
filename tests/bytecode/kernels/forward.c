// Sends its payload to a peer as it passes. The first call says where to, the next one ends it.
#include "weft/kernel.h"

WEFT_KERNEL_CODE("forward")
enum weft_kernel_next forward(struct weft_kernel_step* s) {
  struct weft_kernel_target* const to = (struct weft_kernel_target*)(void*)s->state;
  if (s->event == WEFT_KERNEL_CALL) {
    if (to->address != 0) return WEFT_KERNEL_DONE;
    if (s->input_bytes != sizeof *to) return WEFT_KERNEL_FAILED;
    *to = *(const struct weft_kernel_target*)(const void*)s->input;
    return WEFT_KERNEL_WAIT;
  }
  if (s->event != WEFT_KERNEL_PAYLOAD) return WEFT_KERNEL_FAILED;
  switch (weft_kernel_send(s, to, s->input, s->input_bytes)) {
    case WEFT_KERNEL_SENT: to->address += s->input_bytes; return WEFT_KERNEL_WAIT;
    case WEFT_KERNEL_FULL: return WEFT_KERNEL_RETRY;
    default: return WEFT_KERNEL_FAILED;
  }
}
