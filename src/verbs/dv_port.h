// What libibverbs.so.1 of Weft does for libweft_dv.so.1 (include/weft/dv.h). They lie in different places, and another
// libibverbs.so.1 may be the one that a program finds. Contexts and queue pairs are of Weft's devices.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "weft/dv.h"

extern "C" bool weft_dv_is_ours(const ibv_device* device);
extern "C" ibv_qp* weft_dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, const weftdv_qp_init_attr* weft);
extern "C" int weft_dv_deploy_kernel(ibv_context* context, const weft_kernel* kernel);
extern "C" int weft_dv_deploy_bytecode(ibv_context* context, const weft_bytecode* bytecode,
                                       weft_bytecode_verdict* verdict);
extern "C" int weft_dv_allow_deployment(ibv_qp* qp, const weft_deployment_rights* rights, weft_deployment_key* key);
extern "C" int weft_dv_forbid_deployment(ibv_qp* qp);
extern "C" bool weft_dv_deployment_request(struct weft_deployment_request* request, const weft_deployment_key* key,
                                           std::uint32_t qpn, std::uint64_t number, weft_deployment_action action,
                                           const weft_bytecode* bytecode);
extern "C" int weft_dv_remove_kernel(ibv_context* context, std::uint64_t opcode);
extern "C" int weft_dv_list_kernels(ibv_context* context, weft_kernel* kernels, int most);
extern "C" bool weft_dv_shipped_kernel(const char* name, weft_kernel* kernel);
extern "C" int weft_dv_post_rpc(ibv_qp* qp, const weftdv_rpc* call);
extern "C" int weft_dv_post_rpc_write(ibv_qp* qp, const weftdv_rpc_write* payload);
extern "C" int weft_dv_post_local_rpc(ibv_qp* qp, const weftdv_local_rpc* call);
extern "C" int weft_dv_post_local_rpc_write(ibv_qp* qp, const weftdv_local_rpc_write* payload);
