// A kernel: a function of the program's that runs on the card, between the transport and host memory. Peers call it by
// its op-code. It is called a step at a time, and a step is about a packet's worth of work, because the card does
// nothing else meanwhile: what takes longer is a loop of steps, whose state lies in `state`.
//
// Programs know these types as weft/kernel.h has them, with the same layout and the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weft::nic {

// Why a step is taken.
enum class KernelEvent : std::uint32_t {
  call,     // somebody calls: `input` has the parameters, without the CallHead
  payload,  // so much of an RPC WRITE, in order
  data,     // what the step before wanted to read
  again,    // the step before wanted another one
};

// What a step wants to come next.
enum class KernelNext : std::uint32_t {
  read,    // KernelStep::read_bytes at read_address, in the memory that the call's key opens
  again,   // another step
  wait,    // payload, or a call; one that is being answered has its answer
  done,    // nothing: the call has its answer, and the state is gone
  failed,  // nothing, and the caller is told so
  retry,   // this step again, with what is left of its input behind `taken`: a send found no room, and there is some
  // Of bytecode alone (bytecode/program.h): the step did more than one may, and was stopped.
  stopped,
};

struct KernelStep;

// Where a send goes: memory of the peer of one of this device's queue pairs, of the call's domain.
struct KernelTarget {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t qpn = 0;  // 0: the one that the call was posted to
};
enum class KernelSent : std::uint32_t {
  sent,
  full,     // not now: as much is under way as may be
  refused,  // it may not, and this step was the last
};

// What else a step may do. False: it may not, and this step was the last.
struct KernelPort {
  // Writes to the memory that the call's key opens.
  bool (*write)(KernelStep&, std::uint64_t address, const void* data, std::uint32_t bytes);
  // Adds to the answer: at most kMostReply bytes a step.
  bool (*reply)(KernelStep&, const void* data, std::uint32_t bytes);
  // A WRITE of at most kMostSend bytes, which are copied. For kernels that this host's program has called.
  KernelSent (*send)(KernelStep&, const KernelTarget&, const void* data, std::uint32_t bytes);
};

struct KernelStep {
  static constexpr std::uint32_t kMostRead = 4096, kMostReply = 4096, kMostSend = 4096;

  KernelEvent event{};
  std::uint32_t qpn = 0;  // of the queue pair here that the caller is connected with
  const std::byte* input = nullptr;
  std::uint32_t input_bytes = 0;
  bool last = false;         // payload: nothing follows of this RPC WRITE
  bool is_local = false;     // the program of this host calls, and not the peer
  std::uint64_t offset = 0;  // payload: where in the RPC WRITE
  std::byte* state = nullptr;
  std::uint64_t opcode = 0;  // that is called

  std::uint64_t read_address = 0;  // the answer, KernelNext::read
  std::uint32_t read_bytes = 0;
  std::uint32_t taken = 0;  // the answer, KernelNext::retry: bytes of the input that are done with

  const KernelPort* port = nullptr;
  void* card = nullptr;     // the port's
  void* context = nullptr;  // the kernel's

  bool write(std::uint64_t address, const void* data, std::uint32_t bytes) {
    return port->write(*this, address, data, bytes);
  }
  bool reply(const void* data, std::uint32_t bytes) { return port->reply(*this, data, bytes); }
  [[nodiscard]] KernelSent send(const KernelTarget& to, const void* data, std::uint32_t bytes) {
    return port->send(*this, to, data, bytes);
  }
  [[nodiscard]] KernelNext read(std::uint64_t address, std::uint32_t bytes) {
    read_address = address;
    read_bytes = bytes;
    return KernelNext::read;
  }
};

// A kernel's variables. Zeros must mean something for them.
template <class State>
[[nodiscard]] State& state_of(KernelStep& step) {
  return *static_cast<State*>(static_cast<void*>(step.state));
}

// A kernel of this op-code is called by all that no other kernel has.
inline constexpr std::uint64_t kAnyOpcode = ~std::uint64_t{0};

struct Kernel {
  std::uint64_t opcode = 0;
  std::string_view name{};
  KernelNext (*step)(KernelStep&) = nullptr;
  std::uint32_t state_bytes = 0;        // zeros when it begins
  std::uint32_t most_steps = 1000;      // for one call, or one packet of payload; then it is stopped
  std::uint32_t instances = 16;         // that may be under way at once, of all connections together
  void* context = nullptr;              // what all its steps are to know
  std::shared_ptr<const void> owner{};  // of the context, until the last call of this kernel has ended
};

// How a call begins: where its answer goes, in the caller's memory.
struct CallHead {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t room = 0;       // bytes there, the answer's head included; 0: no answer is wanted
  std::uint32_t immediate = 0;  // that comes with the answer's completion,
  std::uint32_t flags = 0;      //   if this says so
  static constexpr std::uint32_t kCompletes = 1;
};
static_assert(sizeof(CallHead) == 24);

enum class CallOutcome : std::uint32_t {
  none,  // there is no answer yet
  success,
  no_such_kernel,
  failed,    // the kernel said so
  stopped,   // it took too many steps
  denied,    // it wanted memory that the call's key does not open
  too_long,  // the answer did not fit in the room for it
  // Of local calls alone:
  busy,         // as many are under way as the kernel has instances
  undelivered,  // a queue pair that it has sent on has broken
};

// How an answer begins. It is written after all that follows it, in one piece if the caller's address is a multiple of
// eight: who sees an outcome sees the rest, too.
struct ReplyHead {
  CallOutcome outcome{};
  std::uint32_t bytes = 0;  // that follow
};
static_assert(sizeof(ReplyHead) == 8);

}  // namespace weft::nic
