// For libweft_dv.so.1 (verbs/dv_port.h).
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

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" bool weft_dv_is_ours(const ibv_device* device) { return is_ours(device); }

extern "C" ibv_qp* weft_dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, const weftdv_qp_init_attr* weft) {
  constexpr std::uint64_t kKnown = WEFTDV_QP_INIT_ATTR_STAR_ROLE;
  auto role = weft::host::StarRole::none;
  if (weft != nullptr && (weft->comp_mask & ~kKnown) != 0) return refuse(EINVAL);
  if (weft != nullptr && (weft->comp_mask & WEFTDV_QP_INIT_ATTR_STAR_ROLE) != 0 && !role_of(weft->star_role, role)) {
    return refuse(EINVAL);
  }
  return create_qp_in_role(context, attr, role);
}
