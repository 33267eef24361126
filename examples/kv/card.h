// The card: a device, its memory and queue pairs, by libibverbs and what Weft adds to it (weft/dv.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "weft/dv.h"

namespace kv {

// What a peer must know to connect.
struct Endpoint {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t qpn = 0, psn = 0;
};

enum class Calls { none, serves, makes };

class QueuePair {
 public:
  explicit QueuePair(ibv_qp* qp) : qp_(qp) {}
  [[nodiscard]] ibv_qp* get() const { return qp_.get(); }
  // From RESET to RTS.
  void connect(const Endpoint& peer, std::uint32_t own_psn) const;

 private:
  struct Destroy {
    void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
  };
  std::unique_ptr<ibv_qp, Destroy> qp_;
};

// Ends the program with a sentence where verbs says no.
class Card {
 public:
  explicit Card(int completions);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  [[nodiscard]] ibv_mr* register_memory(std::span<std::byte> memory);
  [[nodiscard]] QueuePair make_queue_pair(Calls calls);
  [[nodiscard]] Endpoint endpoint_of(const QueuePair& qp);
  void deploy(const char* shipped_kernel);
  [[nodiscard]] ibv_cq* cq() const { return cq_; }

  // Of a queue pair's work under way.
  static constexpr std::uint32_t kEntries = 16;

 private:
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  std::array<std::uint8_t, 16> gid_{};
  std::uint32_t next_psn_ = 1;
};

}  // namespace kv
