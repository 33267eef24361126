// Calls of kernels (nic/kernels), as the responder takes them: in order, each once, in both dialects. A call is
// answered by WRITEs into the caller's memory, which this card makes itself, in the send queue of the same queue pair:
// so they are scheduled, sent again and acknowledged as all work is. What they send is a copy: memory may have changed
// when they are sent again.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include "nic/completions.h"
#include "nic/kernels/kernel_table.h"
#include "nic/rc/admission.h"
#include "nic/schedule/turn_budget.h"

namespace weft::nic {

// Not now: the caller tries again, as if no receive had been posted.
constexpr Admission busy() { return {Refusal::kernel_busy, wire::NakCode::invalid_request, Status::remote_operation}; }

template <World W>
class Calls {
 public:
  explicit Calls(Core<W>& core) : core_(core) {}

  // An RPC: `to` names the kernel and the key that it may use, `payload` is the call's head and parameters.
  [[nodiscard, gnu::noinline]] Admission call(Context& c, const wire::Reth& to, std::span<const std::byte> payload) {
    if (c.calls == nullptr) return invalid(Refusal::kernel_off);
    if (payload.size() < sizeof(CallHead)) return invalid(Refusal::kernel_bad_call);
    if (c.state != QpState::rts) return busy();  // nothing can be answered yet
    CallHead head;
    std::memcpy(&head, payload.data(), sizeof head);
    if (head.room != 0 && head.room < sizeof(ReplyHead)) return invalid(Refusal::kernel_bad_call);
    KernelInstance* i = c.calls->find_waiting(to.address);
    const bool goes_on = i != nullptr;  // a stream: it has had payload, or is to have some
    if (!goes_on) {
      DeployedKernel* kernel = find(to.address);
      i = kernel != nullptr ? kernel->take() : nullptr;
      if (i == nullptr) return busy();
    }
    if (head.room != 0 && !c.calls->take_places(*i)) {
      if (!goes_on) i->of->give_back(*i);
      return busy();
    }
    if (!goes_on) {
      i->opcode = to.address;
      attach(c, *i);
    }
    i->key = to.key;
    i->caller = head;
    i->answers = head.room != 0;
    i->replied = 0;
    if (i->broken) {  // by payload: now there is somebody to be told
      i->ends = true;
      answer(c, *i);
      return {};
    }
    begin(*i, KernelEvent::call);
    run(c, *i, payload.subspan(sizeof head), true);
    return {};
  }

  // A packet of an RPC WRITE: `offset` is its place there. Who calls nothing before it has no answer, and hears of a
  // kernel that does not exist by a NAK.
  [[nodiscard, gnu::noinline]] Admission payload(Context& c, const wire::Reth& to, std::span<const std::byte> bytes,
                                                 std::uint64_t offset, bool last) {
    if (c.calls == nullptr) return invalid(Refusal::kernel_off);
    if (c.state != QpState::rts) return busy();
    KernelInstance* i = c.calls->find(to.address);
    if (i == nullptr) {
      DeployedKernel* kernel = core_.state.kernels != nullptr ? core_.state.kernels->find_or_any(to.address) : nullptr;
      if (kernel == nullptr || offset != 0) return invalid(Refusal::kernel_unknown);
      i = kernel->take();
      if (i == nullptr) return busy();
      i->phase = Phase::waits;
      i->opcode = to.address;
      attach(c, *i);
    }
    if (i->phase != Phase::waits) return busy();
    if (offset != 0 && offset != i->offset) return invalid(Refusal::not_continued);
    i->key = to.key;
    i->offset = offset;
    i->in_message = !last;
    if (i->broken || i->deaf) {
      i->offset += bytes.size();
      if (i->deaf && last) drop(c, *i);
      return {};
    }
    begin(*i, KernelEvent::payload);
    run(c, *i, bytes, last);
    return {};
  }

  // The queue pair has a turn: calls that had to wait go on.
  [[nodiscard]] static bool has_turn(const Context& c) { return c.calls != nullptr && c.calls->has_turn; }
  [[gnu::noinline]] void turn(Context& c, TurnBudget& budget) {
    c.calls->has_turn = false;
    for (KernelInstance* i = c.calls->first(); i != nullptr;) {
      KernelInstance* const next = i->next;
      if (!may_go_on(*i)) {
        i = next;
        continue;
      }
      if (budget.spent()) {
        c.calls->has_turn = true;
        return;
      }
      --budget.works;
      go_on(c, *i);
      i = next;
    }
  }

 private:
  using Phase = KernelInstance::Phase;
  static constexpr std::uint32_t kStepsAtOnce = 32;
  static constexpr bool kTimed = W::kCapabilities.timed_kernels;

  // What the card does meanwhile is done in the instance's own time.
  class InItsTime {
   public:
    InItsTime(Core<W>& core, KernelInstance& i) : core_(core), i_(i) {
      if constexpr (kTimed) core_.world.kernel_enters(i_);
    }
    InItsTime(const InItsTime&) = delete;
    ~InItsTime() {
      if constexpr (kTimed) core_.world.kernel_leaves(i_);
    }

   private:
    Core<W>& core_;
    KernelInstance& i_;
  };

  // What a step's port acts on.
  struct Stage {
    Calls& calls;
    Context& c;
    KernelInstance& i;
    Refusal fault = Refusal::none;
    std::uint32_t replied = 0;  // in this step
  };

  [[nodiscard]] DeployedKernel* find(std::uint64_t opcode) {
    DeployedKernel* kernel = core_.state.kernels != nullptr ? core_.state.kernels->find_or_any(opcode) : nullptr;
    return kernel != nullptr ? kernel : core_.state.no_kernel;
  }
  [[nodiscard]] static bool may_go_on(const KernelInstance& i) {
    return i.phase == Phase::ready || i.phase == Phase::blocked || i.phase == Phase::finished;
  }
  void attach(Context& c, KernelInstance& i) {
    c.calls->attach(i);
    if constexpr (kTimed) core_.world.kernel_begins(i);
  }
  static void begin(KernelInstance& i, KernelEvent event) {
    i.event = event;
    i.of_payload = event == KernelEvent::payload;
    i.steps = 0;
    i.phase = Phase::ready;
  }
  void go_on(Context& c, KernelInstance& i) {
    if (i.phase == Phase::finished) return answer(c, i);
    std::byte* at = nullptr;
    if (i.event == KernelEvent::data) {
      if (const Refusal r = reach(c, i, Rights::remote_read, i.read_address, i.read_bytes, at); r != Refusal::none)
        return end(c, i, r);
    }
    run(c, i, {at, i.event == KernelEvent::data ? i.read_bytes : 0}, false);
  }

  // Takes steps until the kernel waits, has ended, or others should have a turn.
  [[gnu::noinline]] void run(Context& c, KernelInstance& i, std::span<const std::byte> input, bool last) {
    [[maybe_unused]] const InItsTime its_time(core_, i);
    const Kernel& kernel = i.of->kernel;
    for (std::uint32_t n = 0;; ++n) {
      if (!make_room(c, i)) return;  // never before the first step of a call or a payload
      if (n == kStepsAtOnce) return yield(c, i);
      if (i.steps++ == kernel.most_steps) return end(c, i, Refusal::kernel_stopped);
      Stage stage{*this, c, i};
      KernelStep step{.event = i.event,
                      .qpn = c.qpn.raw(),
                      .input = input.data(),
                      .input_bytes = static_cast<std::uint32_t>(input.size()),
                      .last = last,
                      .offset = i.offset,
                      .state = i.state,
                      .opcode = i.opcode,
                      .port = &kPort,
                      .card = &stage};
      if constexpr (kTimed) core_.world.kernel_step(i, input.size());
      const KernelNext next = kernel.step(step);
      if (i.event == KernelEvent::payload) i.offset += input.size();
      if (stage.fault != Refusal::none) return end(c, i, stage.fault);
      last = false;
      input = {};
      switch (next) {
        case KernelNext::read: {
          if (step.read_bytes > KernelStep::kMostRead) return end(c, i, Refusal::out_of_bounds);
          std::byte* at = nullptr;
          const Refusal r = reach(c, i, Rights::remote_read, step.read_address, step.read_bytes, at);
          if (r != Refusal::none) return end(c, i, r);
          core_.world.read(BusRead::kernel, at, step.read_bytes);
          i.event = KernelEvent::data;
          i.read_address = step.read_address;
          i.read_bytes = step.read_bytes;
          input = {at, step.read_bytes};
          break;
        }
        case KernelNext::again: i.event = KernelEvent::again; break;
        case KernelNext::wait: return rest(c, i);
        case KernelNext::done: return end(c, i, Refusal::none);
        default: return end(c, i, i.of == core_.state.no_kernel ? Refusal::kernel_unknown : Refusal::kernel_failed);
      }
    }
  }
  void yield(Context& c, KernelInstance& i) {
    i.phase = Phase::ready;
    c.calls->has_turn = true;
    core_.schedule(c);
  }

  // ---- how it ends

  [[nodiscard]] static CallOutcome outcome_of(Refusal r) {
    switch (r) {
      case Refusal::none: return CallOutcome::success;
      case Refusal::kernel_unknown: return CallOutcome::no_such_kernel;
      case Refusal::kernel_failed: return CallOutcome::failed;
      case Refusal::kernel_stopped: return CallOutcome::stopped;
      case Refusal::kernel_reply_too_long: return CallOutcome::too_long;
      default: return CallOutcome::denied;
    }
  }
  void end(Context& c, KernelInstance& i, Refusal why) {
    if (why != Refusal::none) core_.refuse(why);
    i.outcome = outcome_of(why);
    // Of a stream that fails the next caller is told; the rest of a message that it has no use for is dropped.
    i.broken = why != Refusal::none && !i.answers && i.of_payload;
    i.deaf = !i.broken && i.of_payload && i.in_message;
    i.ends = !i.broken && !i.deaf;
    answer(c, i);
  }
  void rest(Context& c, KernelInstance& i) {
    i.ends = false;
    i.outcome = CallOutcome::success;
    answer(c, i);
  }
  // The rest of the answer leaves, and its head with the last of it.
  [[gnu::noinline]] void answer(Context& c, KernelInstance& i) {
    if (i.answers) {
      const bool together = i.replied == i.filled && i.filled + sizeof(ReplyHead) <= path_mtu(c);
      if (!together && i.filled != 0) {
        if (!send_filled(c, i)) {
          i.phase = Phase::finished;
          return;
        }
      }
      if (c.calls->is_busy(i.places[i.open])) {
        i.phase = Phase::finished;
        return;
      }
      send_head(c, i, together ? i.filled : 0);
      c.calls->give_back_places(i);
      i.answers = false;
    }
    if (!i.ends) {
      i.phase = Phase::waits;
      return;
    }
    drop(c, i);
  }
  void drop(Context& c, KernelInstance& i) {
    if constexpr (kTimed) core_.world.kernel_ends(i);
    c.calls->detach(i);
    i.of->give_back(i);
  }

  // ---- what leaves

  // Before a step: it may add to the answer.
  [[nodiscard]] bool make_room(Context& c, KernelInstance& i) {
    const bool ready =
        !i.answers || i.filled + KernelStep::kMostReply <= KernelServer::kPlaceBytes || send_filled(c, i);
    if (ready && !(i.answers && c.calls->is_busy(i.places[i.open]))) return true;
    i.phase = Phase::blocked;
    return false;
  }
  // False: it must wait until the place that was filled before has been sent, and acknowledged.
  bool send_filled(Context& c, KernelInstance& i) {
    if (c.calls->is_busy(i.places[1 - i.open])) return false;
    const std::uint64_t to = i.caller.address + sizeof(ReplyHead) + i.replied - i.filled;
    post(c, i, WorkKind::write, to, sizeof(ReplyHead), i.filled);
    i.open = 1 - i.open;
    i.filled = 0;
    return true;
  }
  void send_head(Context& c, KernelInstance& i, std::uint32_t bytes) {
    const ReplyHead head{i.outcome, i.replied};
    std::memcpy(c.calls->place(i.places[i.open]), &head, sizeof head);
    core_.world.write(BusWrite::answer, c.calls->place(i.places[i.open]), sizeof head);
    const bool completes = (i.caller.flags & CallHead::kCompletes) != 0;
    post(c, i, completes ? WorkKind::reply_immediate : WorkKind::reply, i.caller.address, 0,
         static_cast<std::uint32_t>(sizeof head) + bytes);
  }
  // Half of the send queue is the card's, and has an entry for each place.
  [[gnu::noinline]] void post(Context& c, KernelInstance& i, WorkKind kind, std::uint64_t to, std::size_t from,
                              std::uint32_t bytes) {
    const std::uint32_t place = i.places[i.open];
    constexpr std::uint8_t flags = WorkFlags::by_card | WorkFlags::inline_data | WorkFlags::signaled;
    Work& w = *new (work_to_write(c)) Work(place, kind, flags, 0, bytes);
    w.key = i.caller.key;
    w.immediate = i.caller.immediate;
    aim_answer(w, to, c.calls->place(place) + from);
    c.calls->set_busy(place, true);
    core_.world.write(BusWrite::kernel, &w, c.sq_stride);
    ++c.sq_posted;
    core_.schedule(c);
  }

  // ---- the port

  [[nodiscard, gnu::noinline]] Refusal reach(Context& c, const KernelInstance& i, Rights want, std::uint64_t address,
                                             std::uint32_t bytes, std::byte*& at) {
    if (bytes == 0) return Refusal::none;
    if (!includes(c.rights, want)) return Refusal::operation_not_allowed;
    return core_.translate(c, i.key, want, address, bytes, at);
  }
  static bool on_write(KernelStep& step, std::uint64_t address, const void* data, std::uint32_t bytes) {
    Stage& s = *static_cast<Stage*>(step.card);
    if (s.fault != Refusal::none) return false;
    std::byte* at = nullptr;
    s.fault = s.calls.reach(s.c, s.i, Rights::remote_write, address, bytes, at);
    if (s.fault != Refusal::none) return false;
    if (bytes != 0) s.calls.core_.world.dma_write(at, {static_cast<const std::byte*>(data), bytes});
    return true;
  }
  static bool on_reply(KernelStep& step, const void* data, std::uint32_t bytes) {
    Stage& s = *static_cast<Stage*>(step.card);
    KernelInstance& i = s.i;
    if (s.fault != Refusal::none) return false;
    const bool fits = bytes <= KernelStep::kMostReply - s.replied && i.answers &&
                      bytes <= i.caller.room - sizeof(ReplyHead) - i.replied;
    if (!fits) {
      s.fault = Refusal::kernel_reply_too_long;
      return false;
    }
    std::byte* const place = s.c.calls->place(i.places[i.open]) + sizeof(ReplyHead) + i.filled;
    std::memcpy(place, data, bytes);
    s.calls.core_.world.write(BusWrite::answer, place, bytes);
    i.filled += bytes;
    i.replied += bytes;
    s.replied += bytes;
    return true;
  }
  static constexpr KernelPort kPort{&on_write, &on_reply};

  Core<W>& core_;
};

}  // namespace weft::nic
