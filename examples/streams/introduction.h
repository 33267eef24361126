// Two queue pairs get to know each other over a socket.
#pragma once

#include "common/address.h"
#include "common/card.h"
#include "common/tcp.h"

namespace streams {

struct Introduction {
  examples::Endpoint endpoint;
  std::uint32_t rkey = 0;
  std::uint64_t memory = 0;
};

// Connects ours; what the peer says of itself. Both sides can send when it returns.
inline Introduction introduce(const examples::Socket& socket, examples::Card& card, const examples::QueuePair& qp,
                              const ibv_mr& mr) {
  const Introduction own{card.endpoint_of(qp), mr.rkey, examples::number_of(mr.addr)};
  Introduction peer;
  if (!socket.write_from(own) || !socket.read_into(peer)) examples::give_up("the other side has gone");
  qp.connect(peer.endpoint, own.endpoint);
  std::byte ready{};
  if (!socket.write_from(ready) || !socket.read_into(ready)) examples::give_up("the other side has gone");
  return peer;
}

}  // namespace streams
