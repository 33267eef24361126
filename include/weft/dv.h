// What Weft's devices can do that verbs have no word for, as mlx5dv has it for others: roles of StaR (docs/star.md) and
// kernels on the card (weft/kernel.h, docs/kernels.md).
//
//   struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_STAR_ROLE, .star_role = WEFTDV_STAR_STATELESS};
//   struct ibv_qp *qp = weftdv_create_qp(context, &attr, &weft);
//
// For C and C++; link with -lweft_dv. Such a program starts with any libibverbs: on the device of another maker
// weftdv_is_supported() is false, and all else fails with EOPNOTSUPP and a sentence on standard error.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "weft/kernel.h"
#include "weft/shipped_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// These are defined in <infiniband/verbs.h>.
struct ibv_context;
struct ibv_device;
struct ibv_qp;
struct ibv_qp_init_attr_ex;
struct ibv_sge;

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
  WEFTDV_QP_INIT_ATTR_SERVES_CALLS = 1 << 1,  // the peer may call kernels of this device
  WEFTDV_QP_INIT_ATTR_CALLS = 1 << 2,         // this program calls kernels of the peer's device
};

// Only what comp_mask names counts.
struct weftdv_qp_init_attr {
  uint64_t comp_mask;
  enum weftdv_star_role star_role;
  uint32_t serves_calls;  // so many at once: 1 ... 1024; each takes 16 KB
};

// As ibv_create_qp_ex(), and what `weft` says besides; null: nothing. NULL and errno: EOPNOTSUPP if the device is not
// Weft's, or if there is no such queue pair (a role, and calls, are for IBV_QPT_RC; a stateless one has no shared
// receive queue; calls are not for those that have a role); EINVAL for bits, roles and numbers that nobody knows; else
// as ibv_create_qp_ex().
struct ibv_qp* weftdv_create_qp(struct ibv_context* context, struct ibv_qp_init_attr_ex* attr,
                                struct weftdv_qp_init_attr* weft);

// ---- kernels that the peers of this device's queue pairs may call

// One that is deployed replaces the one of its op-code; calls that have begun end with the kernel that they began with.
// 0 or errno: EINVAL for a kernel without a step, or beyond the limits that weft/kernel.h states. A kernel is called on
// any thread of this process, and must not call verbs.
int weftdv_deploy_kernel(struct ibv_context* context, const struct weft_kernel* kernel);
// EINVAL: there is none.
int weftdv_remove_kernel(struct ibv_context* context, uint64_t opcode);
// How many there are; the first `most` of them. Their names are good until they are replaced or removed. -1 and errno.
int weftdv_list_kernels(struct ibv_context* context, struct weft_kernel* kernels, int most);

// ---- calls of the peer's kernels

// The parameters, which fit into one packet with a weft_call_head. With IBV_SEND_INLINE they are copied when they are
// posted, and the queue pair's max_inline_data has room for the head as well. Else sg_list[0] begins with
// sizeof(struct weft_call_head) bytes, which are written when the call is posted: that is the head.
struct weftdv_rpc {
  uint64_t wr_id;
  uint64_t opcode;
  uint32_t rkey;  // what the kernel may use of the peer's memory
  struct ibv_sge* sg_list;
  int num_sge;
  unsigned int send_flags;  // IBV_SEND_SIGNALED, IBV_SEND_FENCE, IBV_SEND_INLINE
  // Where the answer goes: a weft_reply_head, and what the kernel says. Length 0: no answer is wanted.
  uint64_t answer_addr;
  uint32_t answer_rkey;
  uint32_t answer_length;
  bool notify;        // the answer takes a receive of this queue pair, and completes it as a WRITE with immediate does
  uint32_t imm_data;  // that comes with it, as in ibv_send_wr
};
// Payload for a kernel, of any length.
struct weftdv_rpc_write {
  uint64_t wr_id;
  uint64_t opcode;
  uint32_t rkey;
  struct ibv_sge* sg_list;
  int num_sge;
  unsigned int send_flags;
};

// 0 or errno, as ibv_post_send(). The completion (IBV_WC_RDMA_WRITE) says that the peer's card has the call; the answer
// tells what became of it. EOPNOTSUPP: the peer's device is not Weft's, or the queue pair was not made to call. What
// the peer is its card is asked when the queue pair gets to know it. The first call on a connection waits for that,
// half a second at most where somebody answers and 310 ms where nobody does; EAGAIN after five seconds on a machine
// that is too busy to say.
int weftdv_post_rpc(struct ibv_qp* qp, const struct weftdv_rpc* call);
int weftdv_post_rpc_write(struct ibv_qp* qp, const struct weftdv_rpc_write* payload);

#ifdef __cplusplus
}
#endif
