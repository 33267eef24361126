// What libibverbs.so.1 of Weft does for libweft_dv.so.1 (include/weft/dv.h). They lie in different places, and another
// libibverbs.so.1 may be the one that a program finds.
#pragma once

#include <infiniband/verbs.h>

#include "weft/dv.h"

extern "C" bool weft_dv_is_ours(const ibv_device* device);
extern "C" ibv_qp* weft_dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, const weftdv_qp_init_attr* weft);
