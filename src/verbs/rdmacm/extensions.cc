// Enhanced connection establishment: vendors' options, of which this device has none. They are kept, and not sent.
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/identifier.h"

using namespace weft::rdmacm;

extern "C" {

int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (id == nullptr || id->qp != nullptr || ece == nullptr) return fail(EINVAL);
  if (ece->vendor_id == 0 || ece->comp_mask != 0) return fail(EINVAL);
  identifier_of(id).local_ece = *ece;
  return 0;
}

int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (id == nullptr || id->qp != nullptr || ece == nullptr) return fail(EINVAL);
  *ece = identifier_of(id).remote_ece;
  return 0;
}

}  // extern "C"
