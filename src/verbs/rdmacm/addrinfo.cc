// rdma_getaddrinfo: names and services become addresses, as getaddrinfo has them.
#include <cstdlib>
#include <cstring>
#include <memory>

#include <netdb.h>

#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/identifier.h"

namespace weft::rdmacm {
namespace {

bool copy(sockaddr*& to, socklen_t& to_length, const sockaddr* from, socklen_t length) {
  if (from == nullptr || length == 0) return true;
  to = static_cast<sockaddr*>(std::malloc(length));
  if (to == nullptr) return false;
  std::memcpy(static_cast<void*>(to), from, length);
  to_length = length;
  return true;
}

addrinfo question(const rdma_addrinfo& hints) {
  addrinfo out{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) out.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) out.ai_flags |= AI_NUMERICHOST;
  out.ai_family = hints.ai_family;
  if (hints.ai_qp_type == IBV_QPT_RC || hints.ai_qp_type == IBV_QPT_UC) out.ai_socktype = SOCK_STREAM;
  if (hints.ai_qp_type == IBV_QPT_UD) out.ai_socktype = SOCK_DGRAM;
  if (hints.ai_port_space == RDMA_PS_TCP) out.ai_protocol = IPPROTO_TCP;
  if (hints.ai_port_space == RDMA_PS_UDP || hints.ai_port_space == RDMA_PS_IPOIB) out.ai_protocol = IPPROTO_UDP;
  if (hints.ai_port_space == RDMA_PS_IB && out.ai_socktype != 0) {
    out.ai_protocol = out.ai_socktype == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
  }
  return out;
}

bool describe(const addrinfo& found, const rdma_addrinfo& hints, rdma_addrinfo& out) {
  const bool stream = found.ai_socktype != SOCK_DGRAM;
  out.ai_family = found.ai_family;
  out.ai_qp_type = hints.ai_qp_type != 0 ? hints.ai_qp_type : stream ? IBV_QPT_RC : IBV_QPT_UD;
  out.ai_port_space = hints.ai_port_space != 0 ? hints.ai_port_space : stream ? RDMA_PS_TCP : RDMA_PS_UDP;
  const bool passive = (hints.ai_flags & RAI_PASSIVE) != 0;
  if (passive) out.ai_flags = RAI_PASSIVE;
  if (found.ai_canonname != nullptr) {
    (passive ? out.ai_src_canonname : out.ai_dst_canonname) = strdup(found.ai_canonname);
  }
  return passive ? copy(out.ai_src_addr, out.ai_src_len, found.ai_addr, found.ai_addrlen)
                 : copy(out.ai_dst_addr, out.ai_dst_len, found.ai_addr, found.ai_addrlen);
}

// 0, -1 with errno, or what getaddrinfo says: as rdma-core has it, so that gai_strerror explains it.
int look_up(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo& out) {
  const rdma_addrinfo none{};
  addrinfo* found = nullptr;
  const addrinfo asked = question(hints != nullptr ? *hints : none);
  if (const int code = getaddrinfo(node, service, hints != nullptr ? &asked : nullptr, &found); code != 0) return code;
  const bool copied = describe(*found, hints != nullptr ? *hints : none, out);
  freeaddrinfo(found);
  return copied ? 0 : fail(ENOMEM);
}

int repeat_hints(const rdma_addrinfo& hints, rdma_addrinfo& out) {
  out.ai_flags = hints.ai_flags;
  out.ai_family = hints.ai_family;
  out.ai_qp_type = hints.ai_qp_type;
  out.ai_port_space = hints.ai_port_space;
  return copy(out.ai_dst_addr, out.ai_dst_len, hints.ai_dst_addr, hints.ai_dst_len) ? 0 : fail(ENOMEM);
}

}  // namespace
}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** res) {
  if (service == nullptr && node == nullptr && hints == nullptr) return fail(EINVAL);
  auto* out = static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo)));
  if (out == nullptr) return fail(ENOMEM);
  int code = node != nullptr || service != nullptr ? look_up(node, service, hints, *out) : repeat_hints(*hints, *out);
  if (code == 0 && out->ai_src_len == 0 && hints != nullptr) {
    if (!copy(out->ai_src_addr, out->ai_src_len, hints->ai_src_addr, hints->ai_src_len)) code = fail(ENOMEM);
  }
  if (code != 0) {
    rdma_freeaddrinfo(out);
    return code;
  }
  *res = out;
  return 0;
}

void rdma_freeaddrinfo(rdma_addrinfo* res) {
  while (res != nullptr) {
    rdma_addrinfo* next = res->ai_next;
    for (void* part : {res->ai_connect, res->ai_route, static_cast<void*>(res->ai_src_canonname),
                       static_cast<void*>(res->ai_dst_canonname), static_cast<void*>(res->ai_src_addr),
                       static_cast<void*>(res->ai_dst_addr), static_cast<void*>(res)}) {
      std::free(part);
    }
    res = next;
  }
}

}  // extern "C"
