// For libweft_dv.so.1 (verbs/dv_port.h): queue pairs with what verbs have no word for, and kernels on the card. Calls
// of the peer's kernels are in calls.cc.
#include <algorithm>

#include "native/bytecode.h"
#include "native/kernel_shape.h"
#include "verbs/dv_port.h"
#include "verbs/ibverbs/device_list.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/raw_enum.h"

namespace weft::verbs {
namespace {

// False: nobody knows this role.
bool role_of(const weftdv_star_role& wanted, host::StarRole& role) {
  switch (raw(wanted)) {
    case WEFTDV_STAR_NONE: role = host::StarRole::none; return true;
    case WEFTDV_STAR_STATELESS: role = host::StarRole::stateless; return true;
    case WEFTDV_STAR_STATEFUL: role = host::StarRole::stateful; return true;
    default: return false;
  }
}

// False: something in it means nothing.
bool extras_of(const weftdv_qp_init_attr& weft, QpExtras& extras) {
  constexpr std::uint64_t kKnown = WEFTDV_QP_INIT_ATTR_STAR_ROLE | WEFTDV_QP_INIT_ATTR_SERVES_CALLS |
                                   WEFTDV_QP_INIT_ATTR_CALLS | WEFTDV_QP_INIT_ATTR_LOCAL_CALLS;
  const auto has = [&](weftdv_qp_init_attr_mask bit) { return (weft.comp_mask & bit) != 0; };
  if ((weft.comp_mask & ~kKnown) != 0) return false;
  if (has(WEFTDV_QP_INIT_ATTR_STAR_ROLE) && !role_of(weft.star_role, extras.role)) return false;
  if (has(WEFTDV_QP_INIT_ATTR_SERVES_CALLS)) {
    extras.serves_calls = weft.serves_calls;
    if (weft.serves_calls == 0) return false;
  }
  if (has(WEFTDV_QP_INIT_ATTR_LOCAL_CALLS)) {
    extras.local_calls = weft.local_calls;
    if (weft.local_calls == 0) return false;
  }
  extras.calls = has(WEFTDV_QP_INIT_ATTR_CALLS);
  return true;
}

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

bool weft_dv_is_ours(const ibv_device* device) { return is_ours(device); }

ibv_qp* weft_dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, const weftdv_qp_init_attr* weft) {
  QpExtras extras;
  if (weft != nullptr && !extras_of(*weft, extras)) return refuse(EINVAL);
  return create_special_qp(context, attr, extras);
}

int weft_dv_deploy_kernel(ibv_context* context, const weft_kernel* kernel) try {
  const Hold hold(context_of(context));
  return hold ? errno_of(context_of(context).device.deploy(weft::native::ours(*kernel))) : EIO;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int weft_dv_deploy_bytecode(ibv_context* context, const weft_bytecode* bytecode, weft_bytecode_verdict* verdict) try {
  // The lane goes on meanwhile.
  const weft::bytecode::MadeKernel made = weft::native::make_kernel(*bytecode, verdict);
  if (made.verdict.fault != weft::bytecode::BytecodeFault::none)
    return errno_of(weft::native::error_of(made.verdict.fault));
  const Hold hold(context_of(context));
  return hold ? errno_of(context_of(context).device.deploy(made.kernel)) : EIO;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int weft_dv_allow_deployment(ibv_qp* qp, const weft_deployment_rights* rights, weft_deployment_key* key) try {
  (void)weft::bytecode::find_engine();  // the lane goes on while it is loaded
  const Hold hold(context_of(qp->context));
  return hold ? errno_of(weft::native::allow_deployment(context_of(qp->context).device, *ours(qp).queue, *rights, *key))
              : EIO;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int weft_dv_forbid_deployment(ibv_qp* qp) {
  const Hold hold(context_of(qp->context));
  return hold ? errno_of(weft::native::forbid_deployment(context_of(qp->context).device, *ours(qp).queue)) : EIO;
}

bool weft_dv_deployment_request(struct weft_deployment_request* request, const weft_deployment_key* key,
                                std::uint32_t qpn, std::uint64_t number, weft_deployment_action action,
                                const weft_bytecode* bytecode) {
  return weft::native::fill_request(request, key, qpn, number, action, bytecode);
}

int weft_dv_remove_kernel(ibv_context* context, std::uint64_t opcode) {
  const Hold hold(context_of(context));
  return hold ? errno_of(context_of(context).device.remove_kernel(opcode)) : EIO;
}

int weft_dv_list_kernels(ibv_context* context, weft_kernel* kernels, int most) try {
  const Hold hold(context_of(context));
  if (!hold) return minus_one(EIO);
  const std::vector<weft::nic::Kernel> all = context_of(context).device.kernels();
  const std::size_t count = std::min(all.size(), static_cast<std::size_t>(most));
  std::transform(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), kernels, weft::native::theirs);
  return static_cast<int>(all.size());
} catch (const std::bad_alloc&) {
  return minus_one(ENOMEM);
}

bool weft_dv_shipped_kernel(const char* name, weft_kernel* kernel) { return weft::native::find_shipped(name, *kernel); }

}  // extern "C"
