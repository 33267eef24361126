// One process among a server and its clients: a device, and reliable connections with the others. Every connection has
// queues of its own: a stateless card can share none.
#pragma once

#include <cstdint>
#include <vector>

#include <infiniband/verbs.h>

#include "cli/connections/slots.h"

namespace weft::connections {

struct CrowdShape {
  std::uint32_t connections = 0, clients = 0, depth = 0, bytes = 0;
  [[nodiscard]] std::uint32_t of_client(std::uint32_t client) const {
    return connections / clients + (client < connections % clients ? 1 : 0);
  }
};

class CrowdSide {
 public:
  static constexpr std::uint32_t kUnderWay = 1024;  // requests, of all connections together

  // What a process tells the others of itself, and of each connection.
  struct Place {
    ibv_gid gid;
    std::uint64_t base;
    std::uint32_t rkey;
  };

  // Opens the first device, and makes queue pairs. Gives up if the device has too little.
  CrowdSide(const CrowdShape& shape, std::uint32_t connections);
  ~CrowdSide();
  CrowdSide(const CrowdSide&) = delete;
  CrowdSide& operator=(const CrowdSide&) = delete;

  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(qps_.size()); }
  [[nodiscard]] std::uint32_t number(std::uint32_t connection) const { return qps_[connection]->qp_num; }
  void connect(std::uint32_t connection, const Place& peer, std::uint32_t peer_number) const;

  [[nodiscard]] MessageSlots& slots() { return slots_; }
  [[nodiscard]] ibv_cq* cq() const { return cq_; }
  // Posts a WRITE or a READ of a message's slot, from or into the slot of our own.
  void post(std::uint32_t connection, std::uint64_t message, std::uint64_t number, ibv_wr_opcode what,
            const Place& peer, std::uint32_t peers_connection) const;

 private:
  void open();
  void check_limits(std::uint32_t connections) const;

  CrowdShape shape_;
  MessageSlots slots_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_mtu mtu_ = IBV_MTU_1024;
  Place place_{};
  std::vector<ibv_qp*> qps_;
};

}  // namespace weft::connections
