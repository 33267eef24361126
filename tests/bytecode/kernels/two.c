// Two kernels in one object.
#include "weft/kernel.h"

WEFT_KERNEL_CODE("first")
enum weft_kernel_next first(struct weft_kernel_step* s) {
  (void)s;
  return WEFT_KERNEL_DONE;
}
WEFT_KERNEL_CODE("second")
enum weft_kernel_next second(struct weft_kernel_step* s) {
  (void)s;
  return WEFT_KERNEL_FAILED;
}
