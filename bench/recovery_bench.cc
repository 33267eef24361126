// What the host's retransmission software takes for an event of the card: packets that arrive behind a gap, and
// ACKs of such packets. 1 % loss on a long round trip: 74 events for each lost packet.
//
//   build/bench/recovery
#include <cstdint>

#include <benchmark/benchmark.h>

#include "world/direct/pair.h"

namespace weft {
namespace {

using nic::LossEvent;
using nic::Stream;

constexpr std::uint32_t kBehind = 74, kBetween = 100;

class Scene {
 public:
  Scene() : pair_(config(), direct::Icrc::none) {
    host::QpOptions options;
    options.send_cq = options.receive_cq = *pair_.a().create_cq(16);
    qp_ = *pair_.a().create_qp(*pair_.a().create_domain(), options);
    options.send_cq = options.receive_cq = *pair_.b().create_cq(16);
    pair_.connect(*qp_, **pair_.b().create_qp(*pair_.b().create_domain(), options), nic::Rights::none);
  }
  LossEvent event(Stream stream, LossEvent::Kind kind, std::uint32_t base) const {
    LossEvent e;
    e.slot = qp_->slot();
    e.qpn = qp_->qpn();
    e.stream = stream;
    e.kind = kind;
    e.base = wire::Psn(base);
    e.next = wire::Psn(base + 2 * kBehind);
    return e;
  }
  void tell(const LossEvent& e) {
    pair_.a().tell(e);
    // What is to be sent again has been, by the next event.
    pair_.a().take_losses([&](const nic::ControlMessage& m) {
      if (m.kind != nic::ControlMessage::Kind::retry) return;
      nic::RetryRing& ring = pair_.a().card().retries[m.ring];
      ring.done = ring.posted;
    });
  }

 private:
  static host::DeviceConfig config() {
    host::DeviceConfig c;
    c.dialect = nic::Dialect::srnic;
    c.card.window_packets = 500;
    return c;
  }
  direct::Pair pair_;
  host::QueuePair* qp_ = nullptr;
};

void arrivals(benchmark::State& state) {
  Scene scene;
  std::uint32_t base = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 1; i <= kBehind + 1; ++i) {
      LossEvent e = scene.event(Stream::requests_in, LossEvent::Kind::arrived, base);
      e.psn = wire::Psn(base + i % (kBehind + 1));  // the missing one comes last
      scene.tell(e);
    }
    base += kBetween;
    scene.tell(scene.event(Stream::requests_in, LossEvent::Kind::exited, base));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * (kBehind + 2));
}

void acks(benchmark::State& state) {
  Scene scene;
  std::uint32_t base = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 1; i <= kBehind; ++i) {
      LossEvent e = scene.event(Stream::responses_out, LossEvent::Kind::sacked, base);
      e.psn = wire::Psn(base + i);
      e.run = static_cast<std::uint16_t>(i);
      scene.tell(e);
    }
    base += kBetween;
    scene.tell(scene.event(Stream::responses_out, LossEvent::Kind::acked, base));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * (kBehind + 1));
}

BENCHMARK(arrivals);
BENCHMARK(acks);

}  // namespace
}  // namespace weft
