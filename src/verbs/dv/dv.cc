// libweft_dv.so.1: what programs call beside verbs, if the device is Weft's (include/weft/dv.h).
#include "weft/dv.h"

#include <cerrno>
#include <cstdio>

#include "verbs/dv_port.h"

extern "C" {

// With another libibverbs.so.1 these are not there.
decltype(weft_dv_is_ours) weft_dv_is_ours __attribute__((weak));
decltype(weft_dv_create_qp) weft_dv_create_qp __attribute__((weak));

bool weftdv_is_supported(ibv_device* device) {
  return device != nullptr && weft_dv_is_ours != nullptr && weft_dv_is_ours(device);
}

ibv_qp* weftdv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, weftdv_qp_init_attr* weft) {
  if (context == nullptr || attr == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  if (!weftdv_is_supported(context->device)) {
    std::fprintf(stderr,
                 "weft: %s is no device of Weft's, and has no queue pairs with roles of StaR: start the program "
                 "with weft run\n",
                 context->device->name);
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return weft_dv_create_qp(context, attr, weft);
}

}  // extern "C"
