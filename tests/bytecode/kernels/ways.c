// What a kernel can do wrong without being refused: the first byte of its parameters says what.
#include "weft/kernel.h"

WEFT_KERNEL_CODE("ways")
enum weft_kernel_next go_wrong(struct weft_kernel_step* s) {
  const uint64_t where = ((const uint64_t*)(const void*)s->input)[1];
  switch (s->input[0]) {
    case 1: return WEFT_KERNEL_AGAIN;  // it never ends
    case 2:                            // it names bytes that are not its own
      return weft_bytecode_reply(where, 64, 0) ? WEFT_KERNEL_DONE : WEFT_KERNEL_DONE;
    case 3:  // it does too much in a step
#pragma unroll
      for (int i = 0; i < 32; ++i) weft_bytecode_write(where, 112, 4096);
      return WEFT_KERNEL_DONE;
    case 4: return (enum weft_kernel_next)77;                  // it wants what there is not
    case 5: return weft_kernel_read(s, where, 1U << 30);       // it reads too much at once
    case 6: return weft_kernel_read(s, ~(uint64_t)0 - 3, 64);  // it reads where there is nothing
    case 7: return weft_kernel_reply(s, s->input, 5000) ? WEFT_KERNEL_DONE : WEFT_KERNEL_DONE;  // it answers too much
    default: return WEFT_KERNEL_FAILED;
  }
}
