// For tests only: a libibverbs whose device does nothing but remember, and whose QP1 leads back to itself. A program
// that connects to itself is two sides of a connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <infiniband/verbs.h>

#include "wire/types.h"

namespace weft::rdmacm::fake {

inline constexpr auto kAddress = wire::Address::v4(10, 1, 2, 3);
inline constexpr wire::Address kAddress6{{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}};  // 2001:db8::3

struct QueuePair {
  ibv_qp qp{};
  ibv_qp_attr attributes{};           // everything that was ever set
  std::vector<ibv_qp_state> history;  // the states it went through
};

// The queue pair behind a verbs handle.
QueuePair& behind(ibv_qp* qp);

// Which management datagrams are lost: those whose attribute is here, so many times.
void lose(std::uint16_t attribute, int times);
int live_objects();  // queue pairs, completion queues and channels not destroyed

}  // namespace weft::rdmacm::fake
