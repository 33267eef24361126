// Sends what its parameters say, or goes wrong in the way that they say.
#include "weft/kernel.h"

struct parameters {
  uint64_t which;
  struct weft_kernel_target to;
  uint64_t where, bytes;
  char text[8];
};

WEFT_KERNEL_CODE("send")
enum weft_kernel_next send_it(struct weft_kernel_step* s) {
  const struct parameters* p = (const struct parameters*)(const void*)s->input;
  if (s->input_bytes == 0) return WEFT_KERNEL_DONE;  // all of it is taken
  switch (p->which) {
    case 0:
      if (!s->is_local) return WEFT_KERNEL_FAILED;
      return weft_kernel_send(s, &p->to, p->text, sizeof p->text) == WEFT_KERNEL_SENT ? WEFT_KERNEL_DONE
                                                                                      : WEFT_KERNEL_FAILED;
    case 1:  // bytes of anywhere, keys and queue pairs of more than 32 bits; it makes nothing of being refused
      weft_bytecode_send(p->to.address, p->bytes >> 32 << 32 | p->to.key, p->to.qpn, p->where, (uint32_t)p->bytes);
      return WEFT_KERNEL_DONE;
    case 2:  // it does too much in a step
#pragma unroll
      for (int i = 0; i < 32; ++i) weft_bytecode_send(p->to.address, p->to.key, p->to.qpn, 112, 4096);
      return WEFT_KERNEL_DONE;
    case 3: return WEFT_KERNEL_RETRY;  // nothing was full
    case 4:                            // it takes more than there is
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (weft_kernel_send(s, &p->to, p->text, sizeof p->text) != WEFT_KERNEL_FULL) continue;
        s->taken = ~0U;
        return WEFT_KERNEL_RETRY;
      }
      return WEFT_KERNEL_FAILED;
    case 5:  // it goes on after it was refused
      weft_bytecode_send(p->to.address, p->to.key, 0xABCDE, 112, 8);
      weft_kernel_send(s, &p->to, p->text, sizeof p->text);
      return WEFT_KERNEL_DONE;
    default: return WEFT_KERNEL_FAILED;
  }
}
