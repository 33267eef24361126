// Options of identifiers.
#include <cstring>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/path.h"

namespace weft::rdmacm {
namespace {

template <class Value>
bool read(const void* from, std::size_t size, Value& out) {
  if (from == nullptr || size != sizeof out) return false;
  std::memcpy(&out, from, sizeof out);
  return true;
}

int set_own_option(Identifier& id, int option, const void* value, std::size_t size) {
  std::uint8_t small = 0;
  int number = 0;
  switch (option) {
    case RDMA_OPTION_ID_TOS:
      if (!read(value, size, small)) return EINVAL;
      id.traffic_class = small;
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
      if (!read(value, size, number) || id.bound) return EINVAL;
      id.reuse_address = number != 0;
      return 0;
    case RDMA_OPTION_ID_AFONLY:
      // An IPv6 listener hears IPv6 only, unless it is for all addresses: there is nothing to choose.
      return read(value, size, number) && !id.bound ? 0 : EINVAL;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (!read(value, size, small) || small == 0 || small > 31) return EINVAL;
      id.ack_timeout = small;
      return 0;
    default: return ENOSYS;
  }
}

}  // namespace
}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" int rdma_set_option(rdma_cm_id* id, int level, int optname, void* optval, size_t optlen) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    const AgentHold hold(me.agent);
    if (!hold) return fail(EIO);
    if (level == RDMA_OPTION_ID) return minus_one_if(set_own_option(me, optname, optval, optlen));
    // A path that the program knows is as good as one that was looked for: there is but one.
    if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH) return minus_one_if(resolve_route(me.agent, me));
    return fail(ENOSYS);
  });
}
