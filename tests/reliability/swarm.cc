#include "reliability/swarm.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <initializer_list>

#include "reliability/lane_draw.h"

namespace weft::test {
namespace {

using wire::Service;

class SwarmDraw {
 public:
  explicit SwarmDraw(std::uint64_t seed) : draw_(seed) { program_.bed.seed = seed; }

  Program make() {
    draw_world();
    draw_weather();
    if (program_.bed.dialect == nic::Dialect::srnic) draw_srnic();
    const auto channels = draw_.between(1, 6);
    for (std::int64_t i = 0; i < channels; ++i) draw_channel();
    draw_timeouts();
    Arena arena(program_.bed.hosts);
    for (Channel& c : program_.channels) {
      for (const std::size_t direction : {0U, 1U}) draw_lane(draw_, c, direction, program_.bed, arena);
    }
    share_receives(arena);
    for (Channel& c : program_.channels) draw_interference(c);
    if (program_.bed.moves) draw_moves();
    program_.bed.arena_bytes = arena.largest();
    return std::move(program_);
  }

 private:
  void draw_world() {
    BedSpec& bed = program_.bed;
    bed.hosts = static_cast<std::uint32_t>(draw_.between(2, 4));
    bed.cq_entries = 1024;
    bed.card.region_slot_bits = 8;
    bed.link.bits_per_second = draw_.one_of<std::uint64_t>({0, 1, 10, 100, 400}) * 1'000'000'000;
    bed.link.delay = draw_.one_of<Time>({0, nanoseconds(100), microseconds(1), microseconds(7), microseconds(50)});
    bed.card.window_packets = draw_.one_of<std::uint32_t>({1, 2, 3, 5, 8, 16, 64, 256});
    bed.card.works_per_turn = static_cast<std::uint32_t>(draw_.between(1, 8));
    bed.card.burst_bytes = draw_.one_of<std::uint32_t>({1, 1000, 4096, 16 * 1024});
    bed.card.acknowledge_every = draw_.one_of<std::uint8_t>({1, 4, 64});
  }

  void draw_weather() {
    sim::FaultPlan& f = program_.bed.link.faults;
    if (draw_.chance(0.15)) return;  // a fine day
    if (draw_.chance(0.7)) f.loss = draw_.probability(0.3);
    if (draw_.chance(0.5)) f.duplication = draw_.probability(0.2);
    if (draw_.chance(0.5)) f.reordering = draw_.probability(0.2);
    if (draw_.chance(0.4)) f.corruption = draw_.probability(0.1);
    if (draw_.chance(0.4)) f.jitter = draw_.probability(0.3);
    f.jitter_max = draw_.between(1, microseconds(20));
    f.hold = draw_.between(1, microseconds(60));
    if (draw_.chance(0.2)) {
      const Time from = draw_.between(0, microseconds(200));
      f.holes.push_back({from, from + draw_.between(1, milliseconds(2))});
    }
    if (speaks_star(program_)) {
      f.holes.clear();  // windows are bound over the network beforehand
    }
    program_.may_time_out = f.loss > 0 || f.corruption > 0 || !f.holes.empty();
  }

  // From numbers of its own: seeds mean the same worlds in both dialects.
  void draw_srnic() {
    Draw draw(world::Random(program_.bed.seed).fork(0x5E).next());
    nic::CardConfig& card = program_.bed.card;
    card.congestion = draw.one_of({nic::CongestionControl::none, nic::CongestionControl::dctcp});
    card.requester_bitmaps = draw.chance(0.7);
    card.probe_delay = draw.one_of({microseconds(5), microseconds(20), microseconds(100), milliseconds(1)});
    card.reorder_notes = draw.one_of<std::uint32_t>({4, 16, 64, 1024});
    card.retry_rings = draw.one_of<std::uint32_t>({1, 2, 256});
    program_.control_delay = draw.chance(0.4) ? 0 : draw.between(0, microseconds(20));
    if (draw.chance(0.3)) program_.bed.link.faults.ecn = draw.probability(0.3);
  }

  void draw_channel() {
    Channel c;
    c.hosts[0] = draw_.below(program_.bed.hosts);
    c.hosts[1] = (c.hosts[0] + 1 + draw_.below(program_.bed.hosts - 1)) % program_.bed.hosts;
    const Service service =
        draw_.one_of({Service::rc, Service::rc, Service::rc, Service::rc, Service::uc, Service::ud});
    const std::uint16_t mtu = draw_.one_of<std::uint16_t>({256, 512, 1024, 2048, 4096});
    for (std::size_t side : {0U, 1U}) {
      c.qps[side] = draw_qp(service, mtu);
      c.uses_srq[side] = service != Service::uc && shares(c.hosts[side]) == service;
    }
    c.qps[0].max_peer_reads = c.qps[1].max_reads;
    c.qps[1].max_peer_reads = c.qps[0].max_reads;
    if (service == Service::rc && program_.bed.dialect == nic::Dialect::star) fit_star(c);
    program_.channels.push_back(c);
  }

  // StaR: one host plays the other part than all others, and a stateless side has its limits.
  void fit_star(Channel& c) {
    if (c.hosts[0] != 0 && c.hosts[1] != 0) c.hosts[0] = 0;
    for (const std::size_t side : {0U, 1U}) {
      c.uses_srq[side] = !is_stateless(c, side) && shares(c.hosts[side]) == Service::rc;
      if (!is_stateless(c, side)) continue;
      host::QpLimits& l = c.qps[side].limits;
      l.send_sges = std::min<std::uint32_t>(l.send_sges, nic::RemoteWork::kMaxSges);
      l.receive_sges = std::min<std::uint32_t>(l.receive_sges, nic::RemoteWork::kMaxSges);
    }
  }
  // Windows are bound over the network before anything happens, and that must not fail.
  static void fit_star(QpSpec& q) {
    constexpr std::uint8_t kPatient = 11;  // 8.4 ms, eight times
    q.ack_timeout = std::max(q.ack_timeout, kPatient);
    q.retry_count = 7;
  }
  [[nodiscard]] bool is_stateless(const Channel& c, std::size_t side) const {
    return program_.bed.dialect == nic::Dialect::star && (c.hosts[side] == 0) == program_.bed.first_is_stateless;
  }

  QpSpec draw_qp(Service service, std::uint16_t mtu) {
    QpSpec q;
    q.service = service;
    q.mtu = mtu;
    q.limits = {.send_entries = draw_.one_of<std::uint32_t>({1, 2, 4, 16, 64}),
                .receive_entries = draw_.one_of<std::uint32_t>({1, 2, 4, 16, 64}),
                .send_sges = draw_.one_of<std::uint32_t>({1, 3, 4, 32}),
                .receive_sges = draw_.one_of<std::uint32_t>({1, 4, 32}),
                .inline_bytes = draw_.one_of<std::uint32_t>({0, 64, 333})};
    q.signal_all = draw_.chance(0.1);
    q.psn = wire::Psn(draw_.chance(0.4) ? 0xFF'FFF0 + static_cast<std::uint32_t>(draw_.below(16))
                                        : static_cast<std::uint32_t>(draw_.next()));
    q.retry_count = draw_.chance(0.8) ? 7 : static_cast<std::uint8_t>(draw_.below(7));
    q.rnr_retry = draw_.chance(0.8) ? 7 : static_cast<std::uint8_t>(draw_.below(7));
    q.min_rnr_timer = static_cast<std::uint8_t>(draw_.between(1, 8));
    q.max_reads = draw_.one_of<std::uint8_t>({1, 2, 5, 16});
    return q;
  }

  // The service, if any, whose queue pairs have a shared receive queue on this host. Reliable and datagram queue pairs
  // do not share one: datagrams that arrive twice would leave too few receives.
  Service shares(std::size_t host) {
    const world::Random fixed = world::Random(program_.bed.seed).fork(host);
    world::Random random = fixed;
    const std::uint64_t n = random.below(5);
    return n == 0 ? Service::rc : n == 1 ? Service::ud : Service::uc;
  }

  // Long enough for all that may stand before an acknowledgement; now and then too short, and retries may run out.
  void draw_timeouts() {
    const BedSpec& bed = program_.bed;
    std::uint64_t bytes = 0;
    for (const Channel& c : program_.channels) {
      bytes += 2 * (std::uint64_t{c.qps[0].mtu} + 100) * std::min<std::uint32_t>(bed.card.window_packets, 200);
    }
    Time round = 8 * bed.link.delay + 2 * (bed.link.faults.hold + bed.link.faults.jitter_max);
    round += 4 * program_.control_delay;
    if (bed.link.bits_per_second != 0) {
      round += static_cast<Time>(2 * bytes * 8 * 1'000 / (bed.link.bits_per_second / 1'000'000'000));
    }
    std::uint8_t code = 1;
    while (wire::ack_timeout(code, nanoseconds(1)) < 2 * round) ++code;
    for (Channel& c : program_.channels) {
      for (QpSpec& q : c.qps) {
        q.ack_timeout = static_cast<std::uint8_t>(code + draw_.below(3));
        if (draw_.chance(0.1)) q.ack_timeout = static_cast<std::uint8_t>(draw_.between(1, code));
        if (speaks_star(program_) && q.service == Service::rc) fit_star(q);
        const bool calm = bed.link.faults.empty() && q.ack_timeout >= code;
        program_.may_time_out |= q.ack_timeout < code || (!calm && q.retry_count < 7);
      }
    }
  }

  void draw_interference(Channel& c) {
    if (c.qps[0].service != Service::rc) return;
    for (const std::size_t side : {0U, 1U}) {
      Interference& times = c.interferences[side];
      if (draw_.chance(0.2)) {
        times.drain_at = draw_.between(1, microseconds(300));
        times.resume_at = times.drain_at + draw_.between(1, milliseconds(1));
      }
      if (is_stateless(c, side)) times.drain_at = times.resume_at = kNever;
      if (draw_.chance(0.02)) times.break_at = draw_.between(1, microseconds(300));
    }
  }

  // From numbers of its own: seeds mean the same worlds with moves and without. Some of them come while others are
  // under way, and of both sides at once.
  void draw_moves() {
    Draw draw(world::Random(program_.bed.seed).fork(0x40).next());
    for (Channel& c : program_.channels) {
      if (c.qps[0].service != Service::rc) continue;
      const Time longest = draw.one_of({microseconds(10), microseconds(50), microseconds(200), milliseconds(2)});
      Time when = 0;
      for (std::int64_t n = draw.between(0, 16); n > 0; --n) {
        if (!draw.chance(0.2)) when += draw.between(1, longest);
        c.moves.push_back({.when = when,
                           .side = static_cast<std::size_t>(draw.below(2)),
                           .role = draw.one_of({host::StarRole::none, host::StarRole::stateless,
                                                host::StarRole::stateless, host::StarRole::stateful})});
      }
    }
  }

  // One receive for every message that needs one, and some to spare for those that die with a queue pair.
  void share_receives(Arena& arena) {
    program_.shared.resize(program_.bed.hosts);
    for (std::size_t h = 0; h < program_.bed.hosts; ++h) {
      std::uint32_t count = 0, users = 0, largest = 0;
      for (const Channel& c : program_.channels) {
        for (const std::size_t side : {0U, 1U}) {
          if (c.hosts[side] != h || !c.uses_srq[side]) continue;
          ++users;
          for (const Step& s : c.lanes[1 - side].steps) {
            if (!consumes_receive(s.kind)) continue;
            ++count;
            largest = std::max(largest, s.length() + 40);
          }
        }
      }
      for (std::uint32_t i = 0; users > 0 && i < count + users + 2; ++i) {
        program_.shared[h].push_back({.local = arena.cut(draw_, h, largest, 4), .pause = 0});
      }
    }
    program_.srq_entries = draw_.one_of<std::uint32_t>({16, 32});
    for (const Channel& c : program_.channels) {
      for (const std::size_t direction : {0U, 1U}) {
        const bool late = std::any_of(c.lanes[direction].receives.begin(), c.lanes[direction].receives.end(),
                                      [](const ReceiveStep& r) { return r.pause > 0; });
        // A queue that holds fewer receives than there are messages may be empty for a moment.
        const bool few = c.lanes[direction].receives.size() > c.qps[1 - direction].limits.receive_entries;
        if (c.qps[direction].rnr_retry < 7 && (late || few || c.uses_srq[1 - direction])) {
          program_.may_miss_receives = true;
        }
      }
    }
  }

  Draw draw_;
  Program program_;
};

}  // namespace

Program swarm_program(std::uint64_t seed) { return SwarmDraw(seed).make(); }

}  // namespace weft::test
