// Calls of kernels that this host's own program has posted to a queue pair: a queue of fixed size in host memory. They
// are carried out in the order of posting, one after the other. Apart from the send queue, because what they send goes
// there: behind an entry of its own, and a window that only such packets open, it would wait for itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nic/formats.h"
#include "nic/kernels/kernel.h"

namespace weft::nic {

struct KernelInstance;

struct LocalCall {
  static constexpr std::uint32_t kMostParameters = 4096;
  static constexpr std::size_t kMostPieces = 32;

  std::uint64_t id = 0, opcode = 0;
  bool is_payload = false;
  bool signaled = false;
  wire::Key key{};           // what the kernel may use
  CallHead answer{};         // a call's: where it goes
  std::uint32_t length = 0;  // of parameters or payload, in bytes
  std::array<std::byte, kMostParameters> parameters;
  std::array<Sge, kMostPieces> sges;  // of the payload
  std::uint32_t sge_count = 0;

  // What the card knows.
  bool begun = false, fed = false;  // its first bytes have been taken
  KernelInstance* instance = nullptr;

  [[nodiscard]] std::span<const Sge> list() const { return std::span(sges).first(sge_count); }
};

class LocalCalls {
 public:
  explicit LocalCalls(std::uint32_t most) : calls_(most) {}

  [[nodiscard]] bool is_full() const { return posted_ - done_ == calls_.size(); }
  // To be filled in, and then posted.
  [[nodiscard]] LocalCall& next() {
    LocalCall& l = calls_[posted_ % calls_.size()];
    l.begun = l.fed = false;
    l.instance = nullptr;
    l.sge_count = l.length = 0;
    l.answer = {};
    return l;
  }
  void post() { ++posted_; }
  [[nodiscard]] LocalCall* oldest() { return posted_ == done_ ? nullptr : &calls_[done_ % calls_.size()]; }
  void finish() { ++done_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }
  void clear() { done_ = posted_; }
  [[nodiscard]] std::size_t bytes() const { return calls_.size() * sizeof(LocalCall); }

 private:
  std::vector<LocalCall> calls_;
  std::uint64_t posted_ = 0, done_ = 0;
};

}  // namespace weft::nic
