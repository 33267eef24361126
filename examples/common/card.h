// The card: a device, its memory and queue pairs, by libibverbs and what Weft adds to it (weft/dv.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "weft/dv.h"

namespace examples {

// What a peer must know to connect.
struct Endpoint {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t qpn = 0, psn = 0;
  std::uint32_t mtu = 0;  // an ibv_mtu
};

enum class Calls { none, serves, makes, locally };

class QueuePair {
 public:
  explicit QueuePair(ibv_qp* qp) : qp_(qp) {}
  [[nodiscard]] ibv_qp* get() const { return qp_.get(); }
  // From RESET to RTS.
  void connect(const Endpoint& peer, const Endpoint& own) const;

 private:
  struct Destroy {
    void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
  };
  std::unique_ptr<ibv_qp, Destroy> qp_;
};

// The kernel of this name that comes with Weft.
[[nodiscard]] weft_kernel shipped(const char* name);

// Ends the program with a sentence where verbs says no.
class Card {
 public:
  explicit Card(int completions);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  [[nodiscard]] ibv_mr* register_memory(std::span<std::byte> memory);
  // `at_once`: calls of the peer that it serves, or local ones that may be posted.
  [[nodiscard]] QueuePair make_queue_pair(Calls calls, std::uint32_t at_once = 1);
  [[nodiscard]] Endpoint endpoint_of(const QueuePair& qp);
  void deploy(const weft_kernel& kernel);
  // One that comes with Weft.
  void deploy(const char* name);
  [[nodiscard]] ibv_cq* cq() const { return cq_; }

  // Of a queue pair's work under way.
  static constexpr std::uint32_t kEntries = 16;

 private:
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  std::array<std::uint8_t, 16> gid_{};
  std::uint32_t mtu_ = 0;
  std::uint32_t next_psn_ = 1;
};

}  // namespace examples
