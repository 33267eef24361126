// The half of a send queue that both dialects share: the loop of a turn, work that sends nothing, entries that cannot
// be sent, and the end of draining. A dialect derives from it and says what is its own:
//   bool may_send(c)                    there is work that could be sent now, as far as the context tells
//   bool must_wait(c, work)             what the entry that is next tells: it waits for READs before it
//   void ask(c, work, budget)           sends a READ or atomic
//   void send_message(c, work, budget)  sends packets of a SEND or WRITE
//   void retire(c)                      completes what is done
//   bool has_begun(c)                   in SQD: something was begun and is not through, though no work is under way
#pragma once

#include "nic/completions.h"
#include "nic/rc/local_work.h"
#include "nic/schedule/turn_budget.h"
#include "nic/work_fetch.h"

namespace weft::nic {

template <World W, class Dialect>
class SendQueue {
 public:
  // In SQD: tells when everything that was begun has been acknowledged.
  void note_drained(Context& c) {
    if (c.state == QpState::sqd) [[unlikely]]
      see_whether_drained(c);
  }

 protected:
  SendQueue(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  // Sends until the budget, the work, the window or a fence ends it.
  void send_work(Context& c, TurnBudget& budget) {
    WorkFetch<W> fetch(core_, c);
    while (!budget.spent() && budget.room > 0 && own().may_send(c)) {
      const Work& w = fetch.next(budget.works);
      if (own().must_wait(c, w)) [[unlikely]] {
        c.head_waits = true;
        break;
      }
      if (is_local(w.kind)) {
        do_local_work(c, w);
      } else if (reads_back(w.kind)) {
        own().ask(c, w, budget);
      } else {
        own().send_message(c, w, budget);
      }
      --budget.works;
    }
    fetch.drop();
  }

  [[gnu::cold, gnu::noinline]] void stall(Context& c, Status status, Refusal reason) {
    completions_.stall(c, status, reason);
    own().retire(c);
  }

  Core<W>& core_;
  Completions<W>& completions_;

 private:
  [[nodiscard]] Dialect& own() { return static_cast<Dialect&>(*this); }

  void do_local_work(Context& c, const Work& w) {
    if (const Refusal r = carry_out_locally(core_, c, w); r != Refusal::none) return stall(c, Status::window_bind, r);
    ++c.sq_next;
    own().retire(c);
  }
  [[gnu::cold, gnu::noinline]] void see_whether_drained(Context& c) {
    if (c.drained || c.sq_done != c.sq_next || c.next_offset != 0 || Dialect::has_begun(c)) return;
    c.drained = true;
    if (c.drain_notify) core_.world.notify({EventKind::sq_drained, c.qpn.raw()});
  }
};

// The bytes of a message from `offset` on.
template <World W>
[[nodiscard]] Refusal pieces_of(Core<W>& core, const Context& c, const Work& w, std::uint32_t offset,
                                std::uint32_t bytes, Pieces& pieces) {
  if ((w.flags & WorkFlags::inline_data) != 0) {
    if (bytes > 0) (void)pieces.try_push({inline_bytes_of(w) + offset, bytes});
    if ((w.flags & WorkFlags::by_card) != 0) [[unlikely]]
      core.world.read(BusRead::answer, inline_bytes_of(w) + offset, bytes);
    return Refusal::none;
  }
  return gather(core, c, sges_of(w), offset, bytes, pieces);
}

// Before a READ or atomic leaves: its answer, from `offset` on, must have somewhere to go.
template <World W>
[[nodiscard]] Refusal check_answers_room(Core<W>& core, const Context& c, const Work& w, std::uint32_t offset) {
  return for_each_piece(core, c, sges_of(w), Rights::local_write, offset, w.length - offset,
                        [](std::byte*, std::uint32_t) {});
}
// What it asks for.
inline void fill_question(const Work& w, std::uint32_t offset, wire::Headers& h) {
  if (w.kind == WorkKind::read) {
    h.reth = {w.remote.address + offset, wire::Key(w.key), w.length - offset};
  } else if (w.kind == WorkKind::fetch_add) {
    h.atomic = {w.remote.address, wire::Key(w.key), w.remote.compare_add, 0};
  } else {
    h.atomic = {w.remote.address, wire::Key(w.key), w.remote.swap, w.remote.compare_add};
  }
}
// What the last packet of a message says of it.
inline void fill_end(const Work& w, wire::Headers& h) {
  h.bth.solicited = (w.flags & WorkFlags::solicited) != 0;
  h.immediate.value = w.immediate;
  h.invalidate.key = wire::Key(w.immediate);
}

}  // namespace weft::nic
