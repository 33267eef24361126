// What Weft's devices can do that verbs have no word for, as mlx5dv has it for others: roles of StaR (docs/star.md).
//
//   struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_STAR_ROLE, .star_role = WEFTDV_STAR_STATELESS};
//   struct ibv_qp *qp = weftdv_create_qp(context, &attr, &weft);
//
// For C and C++; link with -lweft_dv. Such a program starts with any libibverbs: on the device of another maker
// weftdv_is_supported() is false, and weftdv_create_qp() fails with EOPNOTSUPP and a sentence on standard error.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// These are defined in <infiniband/verbs.h>.
struct ibv_context;
struct ibv_device;
struct ibv_qp;
struct ibv_qp_init_attr_ex;

// Is this a device of Weft's?
bool weftdv_is_supported(struct ibv_device* device);

// Which part a reliable connection's queue pair plays in StaR. Its peer must play the other one.
enum weftdv_star_role {
  WEFTDV_STAR_NONE,       // as the settings say: weft run --transport, --role
  WEFTDV_STAR_STATELESS,  // the peer's card keeps the state of both sides, and this one none
  WEFTDV_STAR_STATEFUL,   // this card keeps the state of both sides
};

enum weftdv_qp_init_attr_mask {
  WEFTDV_QP_INIT_ATTR_STAR_ROLE = 1 << 0,
};

// Only what comp_mask names counts.
struct weftdv_qp_init_attr {
  uint64_t comp_mask;
  enum weftdv_star_role star_role;
};

// As ibv_create_qp_ex(), and what `weft` says besides; null: nothing. NULL and errno: EOPNOTSUPP if the device is not
// Weft's, or if there is no such queue pair (a role is for IBV_QPT_RC; a stateless one has no shared receive queue);
// EINVAL for bits and roles that nobody knows; else as ibv_create_qp_ex().
struct ibv_qp* weftdv_create_qp(struct ibv_context* context, struct ibv_qp_init_attr_ex* attr,
                                struct weftdv_qp_init_attr* weft);

#ifdef __cplusplus
}
#endif
