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

#include "weft/bytecode.h"
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
  WEFTDV_QP_INIT_ATTR_LOCAL_CALLS = 1 << 3,   // this program calls kernels of this device, and they may send this way
};

// Only what comp_mask names counts.
struct weftdv_qp_init_attr {
  uint64_t comp_mask;
  enum weftdv_star_role star_role;
  uint32_t serves_calls;  // so many at once: 1 ... 1024; each takes 16 KB
  uint32_t local_calls;   // so many posted at once: 1 ... 1024; each takes 21 KB, and lets four sends be under way
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
// Bytecode (weft/bytecode.h). EINVAL: it is refused; the verdict, which may be NULL, says why. EOPNOTSUPP: the library
// libweft_bytecode.so.1 is not installed.
int weftdv_deploy_bytecode(struct ibv_context* context, const struct weft_bytecode* bytecode,
                           struct weft_bytecode_verdict* verdict);
// The peer of this queue pair, which serves calls, may deploy bytecode from now on, with the key that this makes. It
// replaces the key that the peer had. 0 or errno: EINVAL for rights without sense; EOPNOTSUPP if the queue pair serves
// no calls, or if the library is missing.
int weftdv_allow_deployment(struct ibv_qp* qp, const struct weft_deployment_rights* rights,
                            struct weft_deployment_key* key);
// What it has deployed stays. EINVAL: it might not.
int weftdv_forbid_deployment(struct ibv_qp* qp);
// EINVAL: there is none.
int weftdv_remove_kernel(struct ibv_context* context, uint64_t opcode);
// How many there are; the first `most` of them. Their names are good until they are replaced or removed. -1 and errno.
int weftdv_list_kernels(struct ibv_context* context, struct weft_kernel* kernels, int most);

// ---- why work has failed

// vendor_err of a completion of this device: the name of the rule that was broken, which is that of a counter of weft
// stat, and a sentence. "?": there is none of this number.
const char* weftdv_reason_name(uint32_t vendor_err);
const char* weftdv_reason_meaning(uint32_t vendor_err);

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
// No kernel for the op-code there, and none for any: an answer says so, and the connection goes on. RPC WRITEs, and
// calls that want no answer, complete with IBV_WC_REM_OP_ERR and the reason peer_no_kernel, and the queue pair breaks.
int weftdv_post_rpc(struct ibv_qp* qp, const struct weftdv_rpc* call);
int weftdv_post_rpc_write(struct ibv_qp* qp, const struct weftdv_rpc_write* payload);

// ---- calls of this device's own kernels

// A kernel does for this program what it does for peers, with this program's memory, and may send to peers: WRITEs by
// this queue pair, or by others of its protection domain that were made for local calls. So it works on what leaves.
// Calls and payload of a queue pair are carried out in the order of posting, one after the other, and apart from its
// send queue: what they send is posted there when they send it, behind what the program has posted by then.
struct weftdv_local_rpc {
  uint64_t wr_id;
  uint64_t opcode;
  uint32_t lkey;  // the memory that the kernel may use
  const void* parameters;
  uint32_t parameter_bytes;  // at most 4096; they are copied
  unsigned int send_flags;   // IBV_SEND_SIGNALED
  // Where the answer goes: a weft_reply_head, and what the kernel says. Length 0: no answer is wanted.
  uint64_t answer_addr;
  uint32_t answer_lkey;
  uint32_t answer_length;
};
// Payload for a kernel, of any length.
struct weftdv_local_rpc_write {
  uint64_t wr_id;
  uint64_t opcode;
  uint32_t lkey;
  struct ibv_sge* sg_list;  // at most 32
  int num_sge;
  unsigned int send_flags;  // IBV_SEND_SIGNALED
};

// 0 or errno, as ibv_post_send(); EOPNOTSUPP: the queue pair was not made for local calls. The completion
// (IBV_WC_RDMA_WRITE) of a call says that the answer is there, and that what the kernel has sent has arrived; that of
// payload, that the kernel has taken it. With an error completes, and breaks the queue pair: payload, or an answer, in
// memory that its key does not open (IBV_WC_LOC_PROT_ERR), and payload for a kernel that does not exist or has no
// instance free (IBV_WC_LOC_QP_OP_ERR). All else is said in the answer.
int weftdv_post_local_rpc(struct ibv_qp* qp, const struct weftdv_local_rpc* call);
int weftdv_post_local_rpc_write(struct ibv_qp* qp, const struct weftdv_local_rpc_write* payload);

#ifdef __cplusplus
}
#endif
