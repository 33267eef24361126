// The kernels of a card, and what is under way of them. In host memory; made, replaced and removed while calls go on: a
// call that has begun ends with the kernel that it began with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "nic/kernels/kernel.h"
#include "nic/kernels/local_calls.h"
#include "wire/types.h"

namespace weft::nic {

struct DeployedKernel;

// One call, or one stream of payload.
struct KernelInstance {
  enum class Phase : std::uint8_t {
    free,
    ready,     // its next step may be taken
    waits,     // for payload or a call
    blocked,   // its next step, or its answer's head, needs a place that is not free yet
    finished,  // it only waits for a place for its answer's head
  };
  DeployedKernel* of = nullptr;
  KernelInstance* next = nullptr;  // of the same queue pair
  std::uint64_t opcode = 0;        // that it was called by
  std::byte* state = nullptr;
  Phase phase = Phase::free;
  wire::Key key{};  // what it may reach here

  // The step that comes next, if it is ready or blocked.
  KernelEvent event{};
  std::uint64_t read_address = 0;
  std::uint32_t read_bytes = 0;
  std::uint32_t steps = 0;   // of this call or packet
  std::uint64_t offset = 0;  // of the payload that comes next
  bool of_payload = false;   // what it does is because of payload, and not of a call
  bool in_message = false;   // more payload of the same RPC WRITE comes
  bool deaf = false;         // it has ended, and waits for the end of that
  bool broken = false;       // it has failed because of payload: `outcome` is for the next caller
  bool is_stream = false;    // it has waited, or was begun by payload: later calls and payload are its own
  bool is_local = false;     // this host's program has called it: all it reaches is local

  // The call that is to be answered.
  CallHead caller{};
  bool answers = false;
  CallOutcome outcome{};
  bool ends = false;             // with this answer
  std::uint32_t replied = 0;     // bytes
  std::uint32_t places[2] = {};  // of its own (KernelServer)
  std::uint8_t open = 0;         // which of them is being filled,
  std::uint32_t filled = 0;      //   with so many bytes

  Time ready_at = 0;  // in worlds where steps take time: when it can go on

  // Of a local one.
  std::uint32_t serial = 0;     // by which what it has sent knows it (KernelServer)
  std::uint32_t under_way = 0;  // WRITEs that have not been acknowledged
  bool lost = false;            // some never will be
};

struct DeployedKernel {
  explicit DeployedKernel(const Kernel& k);
  [[nodiscard]] KernelInstance* take();
  void give_back(KernelInstance& i);

  Kernel kernel;
  std::string name;          // the kernel's
  std::uint32_t number = 0;  // of all that were ever deployed; 0: in no table
  bool is_live = true;
  std::uint32_t users = 0;
  std::vector<KernelInstance> instances;
  std::vector<std::byte> states;
  std::vector<KernelInstance*> free;
};

// What a queue pair needs so that its peer or its own program may call kernels: places from which their answers, and
// what they send, leave, until that is acknowledged. Those of answers come first.
class KernelServer {
 public:
  static constexpr std::uint32_t kPlaceBytes = 2 * KernelStep::kMostReply;
  static constexpr std::uint32_t kSendsOfALocalCall = 4;

  KernelServer(std::uint32_t qpn, std::uint32_t calls, std::uint32_t local_calls);
  KernelServer(const KernelServer&) = delete;
  KernelServer& operator=(const KernelServer&) = delete;

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(busy_.size()); }
  [[nodiscard]] std::size_t bytes() const { return memory_.size() + local_.bytes(); }
  // Of an answer: room for the head, and behind it for kPlaceBytes. Of a send: for kMostSend.
  [[nodiscard]] std::byte* place(std::uint32_t n) {
    return memory_.data() + (n < answers_ ? n * kStride : answers_ * kStride + (n - answers_) * KernelStep::kMostSend);
  }
  [[nodiscard]] bool serves_peer() const { return answers_ != 0; }
  [[nodiscard]] bool is_busy(std::uint32_t n) const { return busy_[n]; }
  void set_busy(std::uint32_t n, bool busy) { busy_[n] = busy; }

  // Two places for a call. False: so many are being answered, or their answers are under way.
  [[nodiscard]] bool take_places(KernelInstance& i);
  void give_back_places(const KernelInstance& i);

  void attach(KernelInstance& i) {
    i.next = first_;
    first_ = &i;
  }
  void detach(KernelInstance& i);
  [[nodiscard]] KernelInstance* first() const { return first_; }
  // An instance of this kernel that waits for payload or a call, of the peer's or of the program's.
  [[nodiscard]] KernelInstance* find_waiting(std::uint64_t opcode, bool is_local = false) const;
  [[nodiscard]] KernelInstance* find(std::uint64_t opcode) const;  // the peer's
  // Does the peer have a stream of this kernel that is busy?
  [[nodiscard]] bool has_busy_stream(std::uint64_t opcode) const;

  // A place has become free: whoever waits for one may look again. True: somebody does.
  bool let_go_on();

  // All calls end unanswered, and what has been sent is lost. Local ones stay in their queue. Calls wake(qpn, serial)
  // for each queue pair that waits for something of this, or has sent something on it (serial != 0).
  template <class Wake>
  void abandon(Wake&& wake);

  bool has_turn = false;  // some instance may go on

  // -- local calls

  [[nodiscard]] bool has_local() const { return sends_ != 0; }
  [[nodiscard]] LocalCalls& local() { return local_; }
  [[nodiscard]] std::uint32_t new_serial() { return ++last_serial_ != 0 ? last_serial_ : ++last_serial_; }
  // A place to send from, for the local call of this queue pair and number; kNoPlace: they are all busy.
  static constexpr std::uint32_t kNoPlace = ~0U;
  [[nodiscard]] std::uint32_t take_send(std::uint32_t qpn, std::uint32_t serial);
  struct Sender {
    std::uint32_t qpn = 0, serial = 0;
  };
  // What was sent from here has arrived, or never will. Whose it was, if it was a send: serial 0 says that it was none.
  [[nodiscard]] Sender end_send(std::uint32_t place);
  // Tells the local instance of this number.
  void end_of_send(std::uint32_t serial, bool arrived);
  // This queue pair's local call waits until a place to send from is free there.
  void wait_at(KernelServer& there);
  // Calls wake(qpn) for each that waits here.
  template <class Wake>
  void wake_waiters(Wake&& wake) {
    while (first_waiter_ != nullptr) {
      KernelServer& w = *first_waiter_;
      w.stop_waiting();
      w.has_turn = true;
      wake(w.qpn_);
    }
  }

 private:
  static constexpr std::size_t kStride = 8 + kPlaceBytes;
  void forget_calls();
  void stop_waiting();

  std::uint32_t qpn_;              // of its queue pair
  std::uint32_t answers_, sends_;  // places
  std::vector<std::byte> memory_;
  std::vector<bool> busy_;            // is being sent
  std::vector<std::uint32_t> pairs_;  // that are free, by the first of their two places
  KernelInstance* first_ = nullptr;
  LocalCalls local_;
  std::vector<Sender> senders_;            // of each place to send from
  std::vector<std::uint32_t> free_sends_;  // places
  KernelServer* waits_at_ = nullptr;
  KernelServer *first_waiter_ = nullptr, *next_waiter_ = nullptr;
  std::uint32_t last_serial_ = 0;
};

template <class Wake>
void KernelServer::abandon(Wake&& wake) {
  forget_calls();
  for (std::uint32_t n = answers_; n != answers_ + sends_; ++n) {
    if (!busy_[n]) continue;
    const Sender s = end_send(n);
    wake(s.qpn, s.serial);
  }
  wake_waiters([&](std::uint32_t qpn) { wake(qpn, 0U); });
  std::fill(busy_.begin(), busy_.end(), false);
  has_turn = false;
}

class KernelTable {
 public:
  // Replaces the kernel of this op-code, if there is one.
  void deploy(const Kernel& k);
  bool remove(std::uint64_t opcode);
  [[nodiscard]] DeployedKernel* find(std::uint64_t opcode) const;
  // Or the one for any op-code.
  [[nodiscard]] DeployedKernel* find_or_any(std::uint64_t opcode) const {
    DeployedKernel* const k = find(opcode);
    return k != nullptr ? k : find(kAnyOpcode);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& k : kernels_) {
      if (k->is_live) visit(*k);
    }
  }

 private:
  void sweep();
  std::vector<std::unique_ptr<DeployedKernel>> kernels_;
  std::uint32_t deployed_ = 0;
};

}  // namespace weft::nic
