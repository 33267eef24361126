// How many packets cross how many links of the simulated world in a second of ours: hosts around one switch, each with
// so many packets under way, answering every packet that arrives with one of the same size to a host drawn at random.
// Packets carry real bytes, copied in at the sender and digested at the receiver. A hop is one link traversed.
//
//   build/bench/sim_hops
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "world/sim/fabric.h"
#include "world/sim/topology.h"

namespace weft::sim {
namespace {

wire::Address address_of(HostIndex host) {
  return wire::Address::v4(10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host));
}

class Responder {
 public:
  static constexpr bool kPostsToItself = false;

  Responder(Fabric<Responder>& fabric, std::uint32_t hosts, std::uint32_t payload_bytes)
      : fabric_(&fabric), random_(fabric.random().next()), hosts_(hosts), payload_bytes_(payload_bytes) {
    index_ = fabric.attach(*this, address_of(static_cast<HostIndex>(fabric.hosts())));
  }
  Responder(const Responder&) = delete;

  void on_parcel(Time, const Parcel&) { send(); }
  void on_refused(Time, Refusal) { send(); }
  void on_wake(Time) {
    for (std::uint32_t i = 0; i < to_start; ++i) send();
  }

  std::uint32_t to_start = 0;

 private:
  void send() {
    HostIndex to = static_cast<HostIndex>(random_.below(hosts_ - 1));
    to += to >= index_;
    const ParcelId id = fabric_->parcels().make(payload_bytes_);
    Parcel& parcel = fabric_->parcels()[id];
    parcel.flow.source = address_of(index_);
    parcel.flow.destination = address_of(to);
    parcel.headers.bth.opcode = wire::Opcode::rc_send_only;
    parcel.headers.bth.psn = wire::Psn(psn_++);
    parcel.headers.bth.destination = wire::Qpn(to);
    if (payload_bytes_ > 0) std::memcpy(parcel.buffer.data, kBytes.data(), payload_bytes_);
    fabric_->send(index_, id);
  }

  static constexpr std::array<std::byte, 4096> kBytes{};
  Fabric<Responder>* fabric_;
  Random random_;
  std::uint32_t hosts_, payload_bytes_;
  HostIndex index_;
  std::uint32_t psn_ = 0;
};

void hops(benchmark::State& state, const FaultPlan& faults) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0)), window = static_cast<std::uint32_t>(state.range(1)),
             payload = static_cast<std::uint32_t>(state.range(2));
  Fabric<Responder> fabric(1);
  std::vector<std::unique_ptr<Responder>> responders;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    responders.push_back(std::make_unique<Responder>(fabric, hosts, payload));
    responders.back()->to_start = window;
    fabric.wake(i, 0);
  }
  connect_star(fabric, {.bits_per_second = 100'000'000'000, .delay = microseconds(1), .faults = faults});
  fabric.run_until_idle(kNever, 20 * hosts * window);  // until pools and queue have their size

  const std::uint64_t before = fabric.counters().hops;
  for (auto _ : state) fabric.run_until_idle(kNever, 100'000);
  state.SetItemsProcessed(static_cast<std::int64_t>(fabric.counters().hops - before));
  state.counters["in_flight"] = static_cast<double>(fabric.parcels().in_flight());
}

void sim_hops(benchmark::State& state) { hops(state, {}); }
void sim_hops_faulty(benchmark::State& state) {
  FaultPlan plan;
  plan.loss = plan.duplication = 0.001;  // the same, so that the number under way hardly changes
  plan.reordering = plan.jitter = 0.001;
  hops(state, plan);
}

BENCHMARK(sim_hops)
    ->ArgNames({"hosts", "window", "payload"})
    ->Args({2, 1, 64})
    ->Args({2, 64, 64})
    ->Args({64, 64, 0})
    ->Args({64, 64, 64})
    ->Args({64, 64, 1024})
    ->Args({64, 64, 4096})
    ->Args({1024, 64, 64})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(sim_hops_faulty)->ArgNames({"hosts", "window", "payload"})->Args({64, 64, 64})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::sim
