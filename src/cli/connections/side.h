// One of two programs with many connections between them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <infiniband/verbs.h>

namespace weft::connections {

inline constexpr std::uint32_t kMaxBytes = 4096;

class Side {
 public:
  static constexpr std::uint32_t kDepth = 16;  // entries of a send queue, 64 bytes each

  // Opens the device and connects `connections` queue pairs with the other side's, over the socket.
  Side(int socket, std::uint32_t connections, std::uint32_t bytes);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] double bytes_per_connection() const { return bytes_per_connection_; }
  // SENDs over the first `connections`, in turn; messages a second.
  double send_for(std::chrono::nanoseconds how_long, std::uint32_t connections);
  void say_goodbye();
  void receive_until_told();

 private:
  struct Address {
    std::uint32_t qpn, psn;
  };
  static constexpr std::uint32_t kShared = 2048, kUnderWay = 1024, kBatch = 32, kBurst = 4, kAhead = 4;

  void open();
  void make_connections(std::uint32_t count);
  void connect(ibv_qp* qp, const Address& peer);
  void post_receives(std::uint32_t count);
  void post_burst(std::uint32_t index);

  int socket_;
  std::uint32_t bytes_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_gid gid_{};
  std::vector<std::byte> memory_;
  std::vector<ibv_qp*> qps_;
  std::vector<std::uint8_t> under_way_;
  double bytes_per_connection_ = 0;
};

}  // namespace weft::connections
