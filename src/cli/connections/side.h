// One of two processes with many connections between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <infiniband/verbs.h>

#include "cli/connections/buffers.h"
#include "cli/connections/link.h"

namespace weft::connections {

enum class Role : std::uint8_t { sends, receives };

struct Shape {
  std::uint32_t connections, depth, bytes;  // depth: entries of a send queue
};

class LoadSide {
 public:
  // Entries of the receive queue that all connections share: more than arrive before a receiver looks again.
  static constexpr int kReceives = 32768;

  // Opens the first device, and connects with the other side over the socket. Gives up if the device has too little.
  LoadSide(int socket, Role role, const Shape& shape);
  ~LoadSide();
  LoadSide(const LoadSide&) = delete;
  LoadSide& operator=(const LoadSide&) = delete;

  [[nodiscard]] const ControlSocket& link() const { return link_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Buffers& buffers() const { return buffers_; }
  [[nodiscard]] ibv_cq* cq() const { return cq_; }
  [[nodiscard]] ibv_srq* srq() const { return srq_; }
  [[nodiscard]] ibv_qp* qp(std::uint32_t index) const { return qps_[index]; }
  [[nodiscard]] std::uint32_t lkey() const { return mr_->lkey; }
  [[nodiscard]] std::uint32_t receives() const { return static_cast<std::uint32_t>(receives_); }
  [[nodiscard]] std::uint64_t remote_base() const { return peer_.base; }
  [[nodiscard]] std::uint32_t rkey() const { return peer_.rkey; }

  // Memory that each connection took, all of them made and idle.
  [[nodiscard]] double bytes_per_connection() const { return bytes_per_connection_; }

 private:
  struct Place {  // that a side tells the other
    ibv_gid gid;
    std::uint64_t base;
    std::uint32_t rkey;
  };
  struct Address {
    std::uint32_t qpn, psn;
  };

  void open();
  void check_limits(std::uint64_t completions);
  void make_connections();
  void connect(ibv_qp* qp, const Address& peer) const;

  ControlSocket link_;
  Role role_;
  Shape shape_;
  Buffers buffers_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_mtu mtu_ = IBV_MTU_1024;
  int receives_ = kReceives;
  Place mine_{}, peer_{};
  std::vector<ibv_qp*> qps_;
  double bytes_per_connection_ = 0;
};

}  // namespace weft::connections
