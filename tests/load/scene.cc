#include "load/scene.h"

#include <algorithm>
#include <bit>

namespace weft::test {
namespace {

using nic::Counter;
using nic::WorkKind;

constexpr std::uint32_t kMtu = 4096;

bool uses_receives(WorkKind kind) { return kind == WorkKind::send; }

BedSpec bed_of(const Load& load, std::uint64_t seed) {
  const std::uint32_t most = load.connections * (load.hosts > 2 ? load.hosts - 1 : 1);
  BedSpec spec = speaking(load.dialect, {.seed = seed});
  spec.hosts = load.hosts;
  spec.link = {.bits_per_second = 10 * kBottleneck, .delay = microseconds(1), .faults = load.faults};
  spec.bottleneck = kBottleneck;
  spec.card.max_qps = std::max(16U, std::bit_ceil(most + 1));
  spec.card.retry_rings = nic::CardConfig{}.retry_rings;  // so many connections may recover at once
  spec.card.reorder_notes = nic::CardConfig{}.reorder_notes;
  spec.card.target_delay = load.target_delay;
  spec.card.srnic_window_packets = 1024;  // as between programs: more than a peer's window has to begin with
  spec.arena_bytes = 2 * std::size_t{std::max(load.bytes, 64U)};
  spec.cq_entries = 2 * most * load.messages;
  spec.burst_bytes = spec.one_copy_bytes = 0;
  spec.turns_first = false;
  return spec;
}

// All connections write the same bytes to the same place, so that memory is small however many there are.
void post_all(const Load& load, const Endpoint& from, const Endpoint& to) {
  const std::uint32_t half = std::max(load.bytes, 64U);
  for (std::uint32_t i = 0; i < load.messages; ++i) {
    if (uses_receives(load.kind)) to.receive(i, {{half, load.bytes}});
    const bool reads = load.kind == WorkKind::read;
    from.post({.id = i,
               .kind = load.kind,
               .local = {{reads ? half : 0, load.bytes}},
               .remote = reads ? 0 : half,
               .signaled = i + 1 == load.messages});
  }
}

std::uint64_t total(Bed& bed, Counter counter) {
  std::uint64_t sum = 0;
  for (const Node& node : bed.nodes()) sum += node.counted(counter);
  return sum;
}

void note_shares(const std::vector<Connection>& all, Loaded& seen) {
  double sum = 0, least = 1e18, most = 0;
  for (const Connection& c : all) {
    const double done = c.a.context().sq_done;
    sum += done;
    least = std::min(least, done);
    most = std::max(most, done);
  }
  const double mean = std::max(sum, 1.0) / static_cast<double>(all.size());
  seen.least_share = least / mean;
  seen.most_share = most / mean;
}

}  // namespace

std::string Load::text() const {
  const std::string verb = kind == WorkKind::send ? "SEND" : kind == WorkKind::read ? "READ" : "WRITE";
  return (dialect == nic::Dialect::srnic ? "srnic " : "roce ") + verb + " of " + std::to_string(bytes) + " bytes, " +
         std::to_string(connections) + " x " + std::to_string(messages) + (both_ways ? ", both ways" : "") +
         (stops_for > 0 ? ", with a receiver that stops" : "");
}

Loaded run(const Load& load, std::uint64_t seed) {
  Bed bed(bed_of(load, seed));
  const QpSpec qp{.limits = {.send_entries = load.messages,
                             .receive_entries = uses_receives(load.kind) ? load.messages : 1,
                             .send_sges = 1,
                             .receive_sges = 1},
                  .mtu = kMtu,
                  .ack_timeout = load.ack_timeout};
  if (load.stops_for > 0) bed.node(1).host.stop(load.stops_at, load.stops_for, load.stops_every);
  bed.world().set_faults(bed.world().uplink(1), load.hosts > 2 ? load.faults : load.answer_faults);
  std::vector<Connection> all;
  for (std::size_t from = load.hosts > 2 ? 1 : 0; from < (load.hosts > 2 ? load.hosts : 1); ++from) {
    Node& target = bed.node(load.hosts > 2 ? 0 : 1);
    for (std::uint32_t i = 0; i < load.connections; ++i) all.push_back(bed.connect(bed.node(from), qp, target, qp));
  }
  for (const Connection& c : all) {
    post_all(load, c.a, c.b);
    if (load.both_ways) post_all(load, c.b, c.a);
  }
  Loaded seen;
  const Time started = bed.now();
  const std::uint64_t messages = all.size() * load.messages;
  const double bits = static_cast<double>(messages) * load.bytes * 8;
  bed.world().run_until(started + static_cast<Time>(bits / static_cast<double>(kBottleneck) / 2 * 1e12));
  note_shares(all, seen);
  seen.at_rest = bed.run(started + seconds(60));
  for (Node& node : bed.nodes()) {
    for (const nic::Completion& done : drain(node)) {
      seen.failed += done.status != nic::Status::success;
      if (done.kind == nic::CompletionKind::receive) continue;
      seen.ends.push_back(done.when - started);
      seen.took = std::max(seen.took, done.when - started);
    }
  }
  seen.failed += seen.ends.size() != all.size() * (load.both_ways ? 2 : 1);
  seen.sent = total(bed, Counter::sent_pkts);
  seen.again = total(bed, Counter::retransmitted_pkts) + total(bed, Counter::read_responses_resent);
  seen.probes = total(bed, Counter::probes_sent);
  seen.needless = total(bed, Counter::needless_resends);
  seen.timeouts = total(bed, Counter::local_ack_timeout_err);
  seen.of_the_wire = bits / (static_cast<double>(seen.took) * 1e-12) / static_cast<double>(kBottleneck);
  return seen;
}

}  // namespace weft::test
