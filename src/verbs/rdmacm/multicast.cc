// Multicast groups: the card has none.
#include "verbs/rdmacm/addresses.h"
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/identifier.h"

using namespace weft::rdmacm;

extern "C" {

int rdma_join_multicast(rdma_cm_id*, sockaddr* addr, void*) { return fail(length_of(addr) == 0 ? EINVAL : EOPNOTSUPP); }

int rdma_join_multicast_ex(rdma_cm_id*, rdma_cm_join_mc_attr_ex* attr, void*) {
  if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED) return fail(ENOTSUP);
  constexpr std::uint32_t kBoth = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  if ((attr->comp_mask & kBoth) != kBoth || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return fail(EINVAL);
  return fail(length_of(attr->addr) == 0 ? EINVAL : EOPNOTSUPP);
}

int rdma_leave_multicast(rdma_cm_id*, sockaddr* addr) {
  return fail(length_of(addr) == 0 ? EINVAL : EADDRNOTAVAIL);  // nobody has joined
}

}  // extern "C"
