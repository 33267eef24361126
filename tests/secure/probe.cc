// The smallest program that has a queue pair. Usage: probe [LIBRARY], libibverbs.so.1 if not named.
// Prints whether it runs with rights that its user does not have, and its address.
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sys/auxv.h>

namespace {

void* library = nullptr;

// A function of the library, with the type that verbs.h declares.
template <class Call>
Call* find(const char* name, Call*) {
  return std::bit_cast<Call*>(dlsym(library, name));
}

int failed(const char* what) {
  std::fprintf(stderr, "probe: %s: %s\n", what, std::strerror(errno));
  return 1;
}

}  // namespace

int main(int count, char** words) {
  library = dlopen(count > 1 ? words[1] : "libibverbs.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "probe: %s\n", dlerror());
    return 1;
  }
  ibv_device** devices = find("ibv_get_device_list", ibv_get_device_list)(nullptr);
  ibv_context* context = find("ibv_open_device", ibv_open_device)(devices[0]);
  if (context == nullptr) return failed("ibv_open_device");
  ibv_pd* pd = find("ibv_alloc_pd", ibv_alloc_pd)(context);
  ibv_cq* cq = find("ibv_create_cq", ibv_create_cq)(context, 4, nullptr, nullptr, 0);
  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = cq;
  attr.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attr.qp_type = IBV_QPT_RC;
  if (find("ibv_create_qp", ibv_create_qp)(pd, &attr) == nullptr) return failed("ibv_create_qp");
  ibv_gid gid{};
  find("ibv_query_gid", ibv_query_gid)(context, 1, 0, &gid);
  char address[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, gid.raw, address, sizeof address);
  std::printf("secure=%lu address=%s\n", getauxval(AT_SECURE), address);
  return find("ibv_close_device", ibv_close_device)(context) == 0 ? 0 : failed("ibv_close_device");
}
