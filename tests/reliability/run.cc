// Carries a program out: a coroutine for each queue that is posted to, and one for each host that records completions.
#include <algorithm>
#include <memory>

#include "reliability/program.h"
#include "support/moves.h"

namespace weft::test {
namespace {

using host::Error;
using nic::WorkKind;
using sim::Task;

// A host's log, and who waits for it to grow: room in a queue appears when completions are taken.
struct Log {
  explicit Log(Node& of) : node(of) {}

  Node& node;
  std::vector<nic::Completion> completions{};
  sim::Signal grown{node.host.world().tasks()};
};

Task<> record(Log& log) {
  for (;;) {
    log.completions.push_back(co_await log.node.host.completion(*log.node.cq));
    log.grown.notify_all();
  }
}

// Keys of windows in the order in which a lane's steps use them.
struct WindowKeys {
  std::vector<wire::Key> of_receiver{}, own{};
  std::size_t closed_at_receiver = 0, opened = 0, closed = 0;

  void name(Step& step, const Node& sender) {
    if (step.kind == WorkKind::send_invalidate) step.invalidate = of_receiver[closed_at_receiver++];
    if (step.kind == WorkKind::local_invalidate) step.invalidate = own[closed++];
    if (step.kind != WorkKind::bind_window) return;
    const wire::Key window = own[opened++];
    step.binding = {window, sender.arena.key, sender.arena.address, 64, nic::Rights::remote_read, window};
  }
};

struct Runner {
  explicit Runner(const Program& what) : program(what), bed(what.bed) {
    for (Node& node : bed.nodes()) {
      logs.push_back(std::make_unique<Log>(node));
      node.host.set_control_delay(program.control_delay);
    }
  }

  Task<> send(const Lane& lane, Endpoint from, WindowKeys& keys, std::size_t channel, std::size_t direction) {
    Log& log = *logs[from.node().host.index()];
    co_await bed.world().tasks().sleep(lane.start);
    for (std::size_t i = 0; i < lane.steps.size(); ++i) {
      Step step = lane.steps[i];
      step.id = lane_id(channel, direction, i);
      keys.name(step, from.node());
      Error e = Error::none;
      while ((e = from.post(step)) == Error::queue_full) co_await log.grown.wait();
      assert(e == Error::none);
    }
  }
  Task<> receive(const std::vector<ReceiveStep>& receives, Endpoint at, std::size_t channel, std::size_t direction) {
    Log& log = *logs[at.node().host.index()];
    for (std::size_t i = 0; i < receives.size(); ++i) {
      if (receives[i].pause > 0) co_await bed.world().tasks().sleep(receives[i].pause);
      const std::uint64_t id = lane_id(channel, direction, i);
      while (at.receive(id, receives[i].local) == Error::queue_full) co_await log.grown.wait();
    }
  }
  Task<> receive_shared(const std::vector<ReceiveStep>& receives, host::SharedReceiveQueue& srq, Log& log) {
    for (std::size_t i = 0; i < receives.size(); ++i) {
      if (receives[i].pause > 0) co_await bed.world().tasks().sleep(receives[i].pause);
      std::vector<nic::Sge> sges;
      for (const Piece& p : receives[i].local) sges.push_back(log.node.arena.sge(p.offset, p.length));
      const host::ReceiveRequest request{.id = shared_id(log.node.host.index(), i), .sges = sges};
      while (srq.post(request) == Error::queue_full) co_await log.grown.wait();
    }
  }

  Task<> drain_for_a_while(Endpoint at, Interference times, bool& too_early) {
    sim::Scheduler& tasks = bed.world().tasks();
    co_await tasks.sleep_until(std::max(times.drain_at, bed.now()));
    if (at.go_to(nic::QpState::sqd) != Error::none) co_return;  // broken already
    co_await tasks.sleep_until(std::max(times.resume_at, bed.now()));
    const nic::Context& c = at.context();
    const wire::Psn sent = c.dialect == nic::Dialect::roce ? c.sent_psn : c.next_psn;
    // In StaR PSNs also count what is done for the other side.
    const bool idle = c.dialect == nic::Dialect::star || (sent == c.unacked_psn && c.next_offset == 0);
    too_early = at.qp().state() == nic::QpState::sqd && !at.qp().query().draining && !idle;
    (void)at.go_to(nic::QpState::rts);
  }
  Task<> break_off(Endpoint at, Time when) {
    co_await bed.world().tasks().sleep_until(std::max(when, bed.now()));
    (void)at.go_to(nic::QpState::error);
  }
  Task<> move(Endpoint at, MoveStep step) {
    co_await bed.world().tasks().sleep_until(std::max(step.when, bed.now()));
    (void)bed.move(at, step.role);
  }
  void interfere(std::size_t channel, std::size_t side) {
    const Interference& times = program.channels[channel].interferences[side];
    sim::Scheduler& tasks = bed.world().tasks();
    if (times.break_at != kNever) tasks.spawn(break_off(end(channel, side), times.break_at));
    if (times.drain_at == kNever) return;
    tasks.spawn(drain_for_a_while(end(channel, side), times, drained_too_early[channel][side]));
  }

  void create_queues() {
    srqs.resize(bed.nodes().size(), nullptr);
    for (std::size_t h = 0; h < program.shared.size(); ++h) {
      Node& node = bed.node(h);
      if (!program.shared[h].empty()) srqs[h] = *node.device().create_srq(node.domain, program.srq_entries, 4);
    }
    for (const Channel& c : program.channels) {
      std::array<QpSpec, 2> specs = c.qps;
      for (std::size_t side : {0U, 1U}) {
        if (c.uses_srq[side]) specs[side].srq = srqs[c.hosts[side]];
      }
      connections.push_back(bed.connect(bed.node(c.hosts[0]), specs[0], bed.node(c.hosts[1]), specs[1]));
    }
  }
  [[nodiscard]] Endpoint end(std::size_t channel, std::size_t side) const {
    return side == 0 ? connections[channel].a : connections[channel].b;
  }

  // Before anything is sent, receivers bind the windows that their peers will invalidate.
  void create_windows() {
    windows.resize(program.channels.size());
    for (std::size_t i = 0; i < program.channels.size(); ++i) {
      for (std::size_t direction : {0U, 1U}) {
        const Lane& lane = program.channels[i].lanes[direction];
        const Endpoint sender = end(i, direction), receiver = end(i, 1 - direction);
        WindowKeys& keys = windows[i][direction];
        for (std::uint32_t n = 0; n < lane.windows; ++n) keys.of_receiver.push_back(bind_one(receiver));
        for (const Step& step : lane.steps) {
          if (step.kind != WorkKind::bind_window) continue;
          keys.own.push_back(*sender.node().device().create_window(sender.node().domain, 2));
        }
      }
    }
  }
  wire::Key bind_one(const Endpoint& at) {
    const Node& node = at.node();
    const wire::Key window = *node.device().create_window(node.domain, 2);
    const Error e =
        at.post({.kind = WorkKind::bind_window,
                 .signaled = false,
                 .binding = {window, node.arena.key, node.arena.address, 64, nic::Rights::remote_read, window}});
    assert(e == Error::none);
    (void)e;
    bed.world().run_until_idle();
    drain(node);  // a queue pair may signal everything
    return window;
  }

  void start() {
    sim::Scheduler& tasks = bed.world().tasks();
    drained_too_early.resize(program.channels.size());
    for (auto& log : logs) tasks.spawn(record(*log));
    for (std::size_t h = 0; h < program.shared.size(); ++h) {
      if (srqs[h] != nullptr) tasks.spawn(receive_shared(program.shared[h], *srqs[h], *logs[h]));
    }
    for (std::size_t i = 0; i < program.channels.size(); ++i) {
      for (std::size_t direction : {0U, 1U}) {
        const Lane& lane = program.channels[i].lanes[direction];
        if (!lane.receives.empty()) tasks.spawn(receive(lane.receives, end(i, 1 - direction), i, direction));
        if (!lane.steps.empty()) tasks.spawn(send(lane, end(i, direction), windows[i][direction], i, direction));
        interfere(i, direction);
      }
      for (const MoveStep& step : program.channels[i].moves) tasks.spawn(move(end(i, step.side), step));
    }
  }

  [[nodiscard]] EndState end_state(std::size_t channel, std::size_t side) {
    const Endpoint at = end(channel, side);
    const nic::Context& c = at.context();
    EndState s{.qpn = at.qp().qpn(),
               .state = at.qp().state(),
               .sends_left = c.sq_posted - c.sq_done,
               .receives_left = c.rq_posted - c.rq_done,
               .drained_too_early = drained_too_early[channel][side],
               .windows = windows[channel][1 - side].of_receiver};
    for (const wire::Key key : s.windows) {
      const nic::Region* window = at.node().device().card().memory.find(key);
      s.windows_bound.push_back(window != nullptr && window->bound);
    }
    return s;
  }

  [[nodiscard]] Outcome collect(bool at_rest) {
    Outcome out;
    out.at_rest = at_rest;
    for (std::size_t h = 0; h < logs.size(); ++h) {
      const Node& node = bed.node(h);
      out.arenas.emplace_back(node.arena.bytes.begin(), node.arena.bytes.end());
      out.logs.push_back(std::move(logs[h]->completions));
      out.recovery_bytes += node.device().retransmission().bytes();
      out.reorder_notes += node.device().card().reorder_notes.used();
      for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
        const auto counter = static_cast<nic::Counter>(i);
        out.counters.add(counter, node.counted(counter));
      }
    }
    for (std::size_t i = 0; i < connections.size(); ++i) out.ends.push_back({end_state(i, 0), end_state(i, 1)});
    if (program.bed.moves) {
      out.changes = bed.moves().made();
      out.moves_refused = bed.moves().refused();
    }
    out.packets = bed.world().counters().sent;
    out.faults = bed.world().fault_counters();
    out.digest = bed.world().trace().value();
    return out;
  }

  const Program& program;
  Bed bed;
  std::vector<std::unique_ptr<Log>> logs{};
  std::vector<host::SharedReceiveQueue*> srqs{};
  std::vector<Connection> connections{};
  std::vector<std::array<WindowKeys, 2>> windows{};
  std::vector<std::array<bool, 2>> drained_too_early{};
};

}  // namespace

Outcome run(const Program& program, std::ostream* sink) {
  Runner runner(program);
  runner.bed.world().trace().write_to(sink);
  runner.create_queues();
  runner.create_windows();
  runner.start();
  const bool at_rest = runner.bed.run();
  return runner.collect(at_rest);
}

bool same_content(const nic::Completion& a, const nic::Completion& b) {
  return a.id == b.id && a.status == b.status && a.kind == b.kind && a.has_immediate == b.has_immediate &&
         a.has_invalidated == b.has_invalidated && a.has_grh == b.has_grh && a.solicited == b.solicited &&
         a.reason == b.reason && a.bytes == b.bytes && a.immediate == b.immediate && a.qpn == b.qpn &&
         a.source_qpn == b.source_qpn;
}

}  // namespace weft::test
