// Both ends of two connections, in one program: what is a peer's memory here is another part of the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/address.h"
#include "common/card.h"
#include "common/tcp.h"

namespace tour {

using namespace examples;

// What a kernel has answered.
struct Answer {
  std::uint32_t outcome = WEFT_CALL_NONE;
  std::span<const std::byte> bytes{};

  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    if (bytes.size() != sizeof value) give_up("an answer of another length than was expected");
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
};

class Ends {
 public:
  Ends();

  // The peer's memory, and ours.
  [[nodiscard]] std::byte* there(std::size_t offset) { return &memory_[kThere + offset]; }
  [[nodiscard]] std::byte* here(std::size_t offset) { return &memory_[kHere + offset]; }
  [[nodiscard]] std::uint32_t rkey() const { return mr_->rkey; }
  [[nodiscard]] std::uint32_t way(std::size_t n) const { return ways_[n].get()->qp_num; }

  // Calls a kernel of the peer's card, and payload for one; they return when the answer is there, or the payload.
  Answer call(const char* kernel, std::span<const std::byte> parameters);
  void feed(const char* kernel, std::span<const std::byte> payload);
  // The same for a kernel of our own card.
  Answer call_own(const char* kernel, std::span<const std::byte> parameters);
  void feed_own(const char* kernel, std::span<const std::byte> payload);

 private:
  static constexpr std::size_t kAnswer = 4096, kHere = kAnswer, kThere = 256 << 10, kBytes = 1 << 20;
  void wait();
  [[nodiscard]] Answer answer() const;

  Card card_{64};
  std::vector<std::byte> memory_ = std::vector<std::byte>(kBytes);
  ibv_mr* mr_ = card_.register_memory(memory_);
  QueuePair calls_ = card_.make_queue_pair(Calls::makes), serves_ = card_.make_queue_pair(Calls::serves);
  std::vector<QueuePair> ways_, peers_;  // two, for what our own kernels send
};

template <class T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// Each tells in a line what a kernel has found; false: it is not what it should be.
bool call_kernels_of_a_peer(Ends& ends);
bool call_own_kernels(Ends& ends);

}  // namespace tour
