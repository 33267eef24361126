// What this device has not, said as the interface says it.
#include <infiniband/verbs.h>

#include "verbs/ibverbs/errors.h"

using weft::verbs::refuse;

extern "C" {

int ibv_attach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) { return EOPNOTSUPP; }
int ibv_detach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) { return EOPNOTSUPP; }

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, size_t, std::uint64_t, int, int) { return refuse(EOPNOTSUPP); }

// Objects live in one program: there is no driver in the kernel that could hand them to another.
ibv_context* ibv_import_device(int) { return refuse(EOPNOTSUPP); }
ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) { return refuse(EOPNOTSUPP); }
void ibv_unimport_pd(ibv_pd*) {}
ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) { return refuse(EOPNOTSUPP); }
void ibv_unimport_mr(ibv_mr*) {}
ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) { return refuse(EOPNOTSUPP); }
void ibv_unimport_dm(ibv_dm*) {}

// Librdmacm asks for these with every connection and is content with that.
int ibv_set_ece(ibv_qp*, ibv_ece*) { return errno = EOPNOTSUPP; }
int ibv_query_ece(ibv_qp*, ibv_ece*) { return errno = EOPNOTSUPP; }

}  // extern "C"
