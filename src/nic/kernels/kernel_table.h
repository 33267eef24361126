// The kernels of a card, and what is under way of them. In host memory; made, replaced and removed while calls go on: a
// call that has begun ends with the kernel that it began with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "nic/kernels/kernel.h"
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

// What a queue pair needs so that its peer may call: places from which answers are sent, until they are acknowledged.
class KernelServer {
 public:
  static constexpr std::uint32_t kPlaceBytes = 2 * KernelStep::kMostReply;

  explicit KernelServer(std::uint32_t calls);

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(busy_.size()); }
  [[nodiscard]] std::size_t bytes() const { return memory_.size(); }
  // Room for the head, and behind it for kPlaceBytes.
  [[nodiscard]] std::byte* place(std::uint32_t n) { return memory_.data() + n * kStride; }
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
  // An instance of this kernel that waits for payload or a call.
  [[nodiscard]] KernelInstance* find_waiting(std::uint64_t opcode) const;
  [[nodiscard]] KernelInstance* find(std::uint64_t opcode) const;

  // A place has become free: whoever waits for one may look again. True: somebody does.
  bool let_go_on();

  // All calls end unanswered.
  void abandon();

  bool has_turn = false;  // some instance may go on

 private:
  static constexpr std::uint32_t kStride = 8 + kPlaceBytes;
  std::vector<std::byte> memory_;
  std::vector<bool> busy_;            // is being sent
  std::vector<std::uint32_t> pairs_;  // that are free, by the first of their two places
  KernelInstance* first_ = nullptr;
};

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
