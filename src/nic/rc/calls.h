// Calls of kernels (nic/kernels), as the responder takes them: in order, each once, in both dialects. A call is
// answered by WRITEs into the caller's memory, which this card makes itself, in the send queue of the same queue pair:
// so they are scheduled, sent again and acknowledged as all work is. What they send is a copy: memory may have changed
// when they are sent again.
//
// And local calls, which this host's own program has posted (nic/kernels/local_calls.h). Their memory is the program's,
// as that of other work is, and what they send are WRITEs of the same kind, on this queue pair or others.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include "nic/completions.h"
#include "nic/kernels/kernel_table.h"
#include "nic/rc/admission.h"
#include "nic/rc/replies.h"
#include "nic/schedule/turn_budget.h"

namespace weft::nic {

// Not now: the caller tries again, as if no receive had been posted.
constexpr Admission busy() { return {Refusal::kernel_busy, wire::NakCode::invalid_request, Status::remote_operation}; }
// Who has no answer to come is told by a NAK that names the reason: his work completes with it.
constexpr Admission for_no_kernel() {
  return {Refusal::kernel_unknown, wire::NakCode::no_kernel, Status::remote_operation};
}

template <World W>
class Calls {
 public:
  Calls(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  // An RPC: `to` names the kernel and the key that it may use, `payload` is the call's head and parameters.
  [[nodiscard, gnu::noinline]] Admission call(Context& c, const wire::Reth& to, std::span<const std::byte> payload) {
    if (c.calls == nullptr || !c.calls->serves_peer()) return invalid(Refusal::kernel_off);
    if (payload.size() < sizeof(CallHead)) return invalid(Refusal::kernel_bad_call);
    if (c.state != QpState::rts) return busy();  // nothing can be answered yet
    CallHead head;
    std::memcpy(&head, payload.data(), sizeof head);
    if (head.room != 0 && head.room < sizeof(ReplyHead)) return invalid(Refusal::kernel_bad_call);
    KernelInstance* i = c.calls->find_waiting(to.address);
    const bool goes_on = i != nullptr;  // a stream: it has had payload, or is to have some
    if (!goes_on) {
      if (c.calls->has_busy_stream(to.address)) return busy();  // it is the stream that is asked
      DeployedKernel* kernel = find(to.address);
      if (head.room == 0 && kernel == core_.state.no_kernel) return for_no_kernel();
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

  // A packet of an RPC WRITE: `offset` is its place there.
  [[nodiscard, gnu::noinline]] Admission payload(Context& c, const wire::Reth& to, std::span<const std::byte> bytes,
                                                 std::uint64_t offset, bool last) {
    if (c.calls == nullptr || !c.calls->serves_peer()) return invalid(Refusal::kernel_off);
    if (c.state != QpState::rts) return busy();
    KernelInstance* i = c.calls->find(to.address);
    if (i == nullptr) {
      DeployedKernel* kernel = core_.state.kernels != nullptr ? core_.state.kernels->find_or_any(to.address) : nullptr;
      if (offset != 0) return invalid(Refusal::not_continued);
      if (kernel == nullptr) return for_no_kernel();
      i = kernel->take();
      if (i == nullptr) return busy();
      i->phase = Phase::waits;
      i->opcode = to.address;
      i->is_stream = true;
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
    if (c.calls->has_local()) turn_of_local(c, budget.works);
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
    std::uint32_t replied = 0, sent = 0;  // in this step: bytes, and WRITEs
    KernelServer* full = nullptr;         // where there was no room to send
  };

  [[nodiscard]] DeployedKernel* find(std::uint64_t opcode) {
    DeployedKernel* kernel = core_.state.kernels != nullptr ? core_.state.kernels->find_or_any(opcode) : nullptr;
    return kernel != nullptr ? kernel : core_.state.no_kernel;
  }
  [[nodiscard]] static bool may_go_on(const KernelInstance& i) {
    if (i.is_local) return false;  // in the order of its queue
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
      if (const Refusal r = reach(c, i, kReads, i.read_address, i.read_bytes, at); r != Refusal::none)
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
                      .is_local = i.is_local,
                      .offset = i.offset,
                      .state = i.state,
                      .opcode = i.opcode,
                      .port = &kPort,
                      .card = &stage,
                      .context = kernel.context};
      if constexpr (kTimed) core_.world.kernel_step(i, input.size());
      const KernelNext next = kernel.step(step);
      if (next == KernelNext::retry && stage.full != nullptr && stage.fault == Refusal::none)
        return hold(c, i, stage, std::min(step.taken, step.input_bytes));
      if (i.event == KernelEvent::payload) i.offset += input.size();
      if (stage.fault != Refusal::none) return end(c, i, stage.fault);
      last = false;
      input = {};
      switch (next) {
        case KernelNext::read: {
          if (step.read_bytes > KernelStep::kMostRead) return end(c, i, Refusal::out_of_bounds);
          std::byte* at = nullptr;
          const Refusal r = reach(c, i, kReads, step.read_address, step.read_bytes, at);
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
        case KernelNext::stopped: return end(c, i, Refusal::kernel_stopped);
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
    if (i.is_local) return end_local(c, i, why);
    // Of a stream that fails the next caller is told; the rest of a message that it has no use for is dropped.
    i.broken = why != Refusal::none && !i.answers && i.of_payload;
    i.deaf = !i.broken && i.of_payload && i.in_message;
    i.ends = !i.broken && !i.deaf;
    answer(c, i);
  }
  void rest(Context& c, KernelInstance& i) {
    i.ends = false;
    i.is_stream = true;
    i.outcome = CallOutcome::success;
    i.is_local ? answer_local(c, i) : answer(c, i);
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
    if (i.is_local) return true;
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
    post_from(c, place, kind, {to, i.caller.key, i.caller.immediate}, from, bytes);
  }
  struct Aim {
    std::uint64_t address;
    std::uint32_t key, immediate;
  };
  void post_from(Context& c, std::uint32_t place, WorkKind kind, const Aim& to, std::size_t from, std::uint32_t bytes) {
    constexpr std::uint8_t flags = WorkFlags::by_card | WorkFlags::inline_data | WorkFlags::signaled;
    Work& w = *new (work_to_write(c)) Work(place, kind, flags, 0, bytes);
    w.key = to.key;
    w.immediate = to.immediate;
    aim_answer(w, to.address, c.calls->place(place) + from);
    c.calls->set_busy(place, true);
    core_.world.write(BusWrite::kernel, &w, c.sq_stride);
    ++c.sq_posted;
    core_.schedule(c);
  }

  // ---- local calls

  // The oldest goes on, and then those behind it, each at most once: others are to have a turn as well.
  [[gnu::noinline]] void turn_of_local(Context& c, std::uint32_t works) {
    LocalCalls& queue = c.calls->local();
    for (; works != 0 && queue.oldest() != nullptr; --works) {
      LocalCall& l = *queue.oldest();
      const std::uint64_t done = queue.done();
      l.begun ? go_on_local(c, l) : begin_local(c, l);
      if (c.state == QpState::error) return;
      if (queue.done() != done) continue;
      if (!l.is_payload || l.instance->phase != Phase::waits) return;  // it waits for something, or yields
    }
    if (queue.oldest() != nullptr) c.calls->has_turn = true;
  }
  void begin_local(Context& c, LocalCall& l) {
    l.begun = true;
    KernelInstance* i = c.calls->find_waiting(l.opcode, true);
    if (i == nullptr) {
      DeployedKernel* kernel = find(l.opcode);
      if (l.is_payload && kernel == core_.state.no_kernel)
        return completions_.fail_call(c, Status::local_qp_operation, Refusal::kernel_unknown);
      i = kernel->take();
      if (i == nullptr) {
        if (l.is_payload) return completions_.fail_call(c, Status::local_qp_operation, Refusal::kernel_busy);
        core_.refuse(Refusal::kernel_busy);
        return tell_local(c, l, {CallOutcome::busy, 0});
      }
      i->is_local = true;
      i->opcode = l.opcode;
      i->serial = c.calls->new_serial();
      i->phase = Phase::waits;
      attach(c, *i);
    }
    l.instance = i;
    i->key = l.key;
    i->answers = !l.is_payload;
    i->caller = l.answer;
    i->replied = 0;
    i->offset = 0;
    if (l.is_payload) return go_on_local(c, l);
    if (i->broken) {  // by payload: now there is somebody to be told
      i->ends = true;
      return answer_local(c, *i);
    }
    begin(*i, KernelEvent::call);
    run(c, *i, std::span(l.parameters).first(l.length), true);
  }
  void go_on_local(Context& c, LocalCall& l) {
    KernelInstance& i = *l.instance;
    if (i.phase == Phase::finished) return answer_local(c, i);
    if (l.is_payload && i.phase == Phase::waits) {
      if (i.broken || (l.fed && i.offset == l.length))
        return completions_.finish_call(c, Status::success, Refusal::none, l.length);
      l.fed = true;
      begin(i, KernelEvent::payload);
    }
    std::span<const std::byte> input;
    bool last = false;
    if (i.event == KernelEvent::call) {
      input = std::span(l.parameters).first(l.length).subspan(i.offset);
      last = true;
    } else if (i.event == KernelEvent::payload) {
      if (const Refusal r = next_payload(c, l, input); r != Refusal::none)
        return completions_.fail_call(c, Status::local_protection, r);
      last = i.offset + input.size() == l.length;
    } else if (i.event == KernelEvent::data) {
      std::byte* at = nullptr;
      if (const Refusal r = reach(c, i, kReads, i.read_address, i.read_bytes, at); r != Refusal::none)
        return end(c, i, r);
      input = {at, i.read_bytes};
    }
    i.phase = Phase::ready;
    run(c, i, input, last);
  }
  // The piece of the payload that comes next, of at most so many bytes as a step may read.
  [[nodiscard]] Refusal next_payload(Context& c, const LocalCall& l, std::span<const std::byte>& input) {
    std::uint64_t offset = l.instance->offset;
    for (const Sge& sge : l.list()) {
      if (offset >= sge.length) {
        offset -= sge.length;
        continue;
      }
      const auto bytes =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(sge.length - offset, KernelStep::kMostRead));
      std::byte* at = nullptr;
      if (const Refusal r = find_piece(core_, c, sge, Rights::none, offset, bytes, at); r != Refusal::none) return r;
      core_.world.read(BusRead::payload, at, bytes);
      input = {at, bytes};
      return Refusal::none;
    }
    return Refusal::none;
  }
  // A send found no room: the same step comes again when there is some.
  void hold(Context& c, KernelInstance& i, const Stage& stage, std::uint32_t taken) {
    if (taken == 0 && stage.sent == 0) --i.steps;
    if (i.event == KernelEvent::payload || i.event == KernelEvent::call) i.offset += taken;
    if (i.event == KernelEvent::data) {
      i.read_address += taken;
      i.read_bytes -= taken;
    }
    i.phase = Phase::blocked;
    c.calls->wait_at(*stage.full);
  }
  // A stream that fails stays, for the next call to be told.
  void end_local(Context& c, KernelInstance& i, Refusal why) {
    i.ends = true;
    if (i.answers) return answer_local(c, i);
    LocalCall& l = *c.calls->local().oldest();
    i.phase = Phase::waits;
    i.broken = why != Refusal::none;
    if (!i.broken) drop(c, i);
    completions_.finish_call(c, Status::success, Refusal::none, l.length);
  }
  // What it has sent has arrived before the call is done.
  void answer_local(Context& c, KernelInstance& i) {
    if (!i.answers) {
      i.phase = Phase::waits;
      return;
    }
    if (i.under_way != 0) {
      i.phase = Phase::finished;
      return;
    }
    if (i.lost) {
      core_.refuse(Refusal::kernel_undelivered);
      if (i.outcome == CallOutcome::success) i.outcome = CallOutcome::undelivered;
      i.lost = false;
    }
    const ReplyHead head{i.outcome, i.replied};
    i.answers = false;
    i.phase = Phase::waits;
    if (i.ends) drop(c, i);
    tell_local(c, *c.calls->local().oldest(), head);
  }
  void tell_local(Context& c, const LocalCall& l, const ReplyHead& head) {
    if (l.answer.room != 0) {
      std::byte* at = nullptr;
      const Refusal r =
          core_.translate(c, wire::Key(l.answer.key), Rights::local_write, l.answer.address, sizeof head, at);
      if (r != Refusal::none) return completions_.fail_call(c, Status::local_protection, r);
      place_head(core_, at, std::as_bytes(std::span(&head, 1)));
    }
    completions_.finish_call(c, Status::success, Refusal::none, head.bytes);
  }

  // ---- the port

  // Of a peer's call; local ones have the rights of the program's own work.
  static constexpr Rights kReads = Rights::remote_read, kWrites = Rights::remote_write;

  [[nodiscard, gnu::noinline]] Refusal reach(Context& c, const KernelInstance& i, Rights want, std::uint64_t address,
                                             std::uint32_t bytes, std::byte*& at) {
    if (bytes == 0) return Refusal::none;
    if (i.is_local)
      return core_.translate(c, i.key, want == kWrites ? Rights::local_write : Rights::none, address, bytes, at);
    if (!includes(c.rights, want)) return Refusal::operation_not_allowed;
    return core_.translate(c, i.key, want, address, bytes, at);
  }
  static bool on_write(KernelStep& step, std::uint64_t address, const void* data, std::uint32_t bytes) {
    Stage& s = *static_cast<Stage*>(step.card);
    if (s.fault != Refusal::none) return false;
    std::byte* at = nullptr;
    s.fault = s.calls.reach(s.c, s.i, kWrites, address, bytes, at);
    if (s.fault != Refusal::none) return false;
    if (bytes != 0) s.calls.core_.world.dma_write(at, {static_cast<const std::byte*>(data), bytes});
    return true;
  }
  static bool on_reply(KernelStep& step, const void* data, std::uint32_t bytes) {
    Stage& s = *static_cast<Stage*>(step.card);
    KernelInstance& i = s.i;
    if (s.fault != Refusal::none) return false;
    const bool fits = bytes <= KernelStep::kMostReply - s.replied && i.answers && i.caller.room != 0 &&
                      bytes <= i.caller.room - sizeof(ReplyHead) - i.replied;
    if (!fits) {
      s.fault = Refusal::kernel_reply_too_long;
      return false;
    }
    if (i.is_local) return s.calls.reply_local(s, data, bytes);
    std::byte* const place = s.c.calls->place(i.places[i.open]) + sizeof(ReplyHead) + i.filled;
    std::memcpy(place, data, bytes);
    s.calls.core_.world.write(BusWrite::answer, place, bytes);
    i.filled += bytes;
    i.replied += bytes;
    s.replied += bytes;
    return true;
  }
  bool reply_local(Stage& s, const void* data, std::uint32_t bytes) {
    KernelInstance& i = s.i;
    std::byte* at = nullptr;
    const std::uint64_t to = i.caller.address + sizeof(ReplyHead) + i.replied;
    if (bytes != 0) s.fault = core_.translate(s.c, wire::Key(i.caller.key), Rights::local_write, to, bytes, at);
    if (s.fault != Refusal::none) return false;
    if (bytes != 0) core_.world.dma_write(at, {static_cast<const std::byte*>(data), bytes});
    i.replied += bytes;
    s.replied += bytes;
    return true;
  }
  static KernelSent on_send(KernelStep& step, const KernelTarget& to, const void* data, std::uint32_t bytes) {
    Stage& s = *static_cast<Stage*>(step.card);
    if (s.fault != Refusal::none) return KernelSent::refused;
    Calls& calls = s.calls;
    Context* c = to.qpn == 0 ? &s.c : calls.core_.state.contexts.find(wire::Qpn(to.qpn));
    const bool may = s.i.is_local && c != nullptr && c->domain == s.c.domain && c->calls != nullptr &&
                     c->calls->has_local() && (c->state == QpState::rts || c->state == QpState::sqd);
    if (!may || bytes > KernelStep::kMostSend) {
      s.fault = Refusal::kernel_no_way;
      return KernelSent::refused;
    }
    const std::uint32_t place = c->calls->take_send(s.c.qpn.raw(), s.i.serial);
    if (place == KernelServer::kNoPlace) {
      s.full = c->calls;
      return KernelSent::full;
    }
    if (bytes != 0) std::memcpy(c->calls->place(place), data, bytes);
    calls.post_from(*c, place, WorkKind::write, {to.address, to.key, 0}, 0, bytes);
    ++s.i.under_way;
    ++s.sent;
    return KernelSent::sent;
  }
  static constexpr KernelPort kPort{&on_write, &on_reply, &on_send};

  Core<W>& core_;
  Completions<W>& completions_;
};

}  // namespace weft::nic
