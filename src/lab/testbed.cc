#include "lab/testbed.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "kernels/consistent.h"
#include "kernels/distinct.h"
#include "kernels/get.h"
#include "kernels/shuffle.h"
#include "kernels/traverse.h"
#include "lab/fetch.h"
#include "lab/kernel_stream.h"
#include "world/sim/topology.h"

namespace weft::lab {
namespace {

wire::Address address_of(std::uint32_t station) {
  return wire::Address::v4(10, 0, static_cast<std::uint8_t>(station >> 8), static_cast<std::uint8_t>(station + 1));
}

void need(host::Error e, const char* what) {
  if (e != host::Error::none) throw std::runtime_error(std::string("the card refuses ") + what);
}
template <class T>
T need(host::Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string("the card has no room for ") + what);
  return *result;
}

// Entries of the receive queue of each queue pair. Whoever asks in a stream receives nothing.
std::uint32_t receive_entries(const Setting& setting, bool asks) {
  return asks && setting.pattern == Pattern::stream ? 1 : std::bit_ceil(receive_depth(setting));
}

host::DeviceConfig device_for(const Setting& setting, std::uint32_t qps) {
  host::DeviceConfig config = setting.profile.device;
  config.card.max_qps = std::max(qps, 2U);  // no more than the profile's (validate.h); small tables are quick to make
  config.card.max_cqs = setting.threads + 1;
  config.max_stateless = config.card.max_qps;
  config.mtu = 4096;
  return config;
}

// SONiC's alphas, if it says nothing: 1/8 for lossless traffic and 1/2 for other.
sim::BufferSpec buffer_for(const Setting& setting) {
  const bool pause = setting.profile.chip.pause;
  const double alpha = setting.switch_alpha > 0 ? setting.switch_alpha : pause ? 0.125 : 0.5;
  return {.bytes = setting.switch_buffer_bytes, .alpha = alpha, .pause = pause};
}

host::StarRole role_of(const Setting& setting, bool server) {
  if (setting.stateless == StatelessCards::nobody) return host::StarRole::none;
  const bool stateless = (setting.stateless == StatelessCards::server) == server;
  return stateless ? host::StarRole::stateless : host::StarRole::stateful;
}

// The kernels that are called, on the card of the server.
void deploy(const Setting& setting, host::Device& device) {
  const auto add = [&](nic::Kernel kernel) { need(device.deploy(kernel), "a kernel"); };
  if (setting.pattern == Pattern::fetch) {
    add(kernels::traverse());
    add(kernels::get());
    return add(kernels::consistent(64));
  }
  const std::uint32_t streams = std::max(setting.qps, 1U);
  add(setting.stream_kernel == StreamKernel::shuffle ? kernels::shuffle(streams) : kernels::distinct(streams));
}

// Of a queue pair; the parameters of a call travel in its work entry.
constexpr std::uint32_t kServedCalls = 8;
constexpr std::uint32_t kMostParameters = 80;

constexpr nic::Rights kRights = nic::Rights::local_write | nic::kRemoteRights;

}  // namespace

sim::LinkSpec link_for(const Setting& setting) {
  return {.bits_per_second = link_rate(setting), .delay = setting.link_delay, .faults = {}};
}

bool can_pause(const Setting& setting) {
  const sim::ChipSpec& chip = setting.profile.chip;
  return chip.pause && chip.receive_buffer_bytes > 0 && (setting.clients == 1 || setting.switch_buffer_bytes > 0);
}

std::uint64_t buffer_bytes(const Setting& setting) {
  const std::uint64_t answer = calls_kernels(setting) || setting.pattern == Pattern::fetch ? kAnswerBytes : 0;
  const std::uint64_t bytes = setting.bytes * buffers(setting) + answer;
  const std::uint64_t pages = (bytes + setting.page_bytes - 1) / setting.page_bytes;
  return std::max<std::uint64_t>(pages, 1) * setting.page_bytes;
}

std::uint64_t memory_bytes(const Setting& setting, bool serves, std::uint32_t qps) {
  const std::uint64_t buffer = buffer_bytes(setting);
  if (serves && setting.pattern == Pattern::fetch) return fetched_memory(setting);
  if (serves && calls_kernels(setting)) return stream_memory(setting) * setting.qps;
  return setting.region_bytes != 0 ? std::max(setting.region_bytes, buffer) : buffer * std::max(qps, 1U);
}

Station::Station(sim::ChipFabric& fabric, const wire::Address& a, const Setting& setting, std::uint32_t qps,
                 std::uint32_t receives, bool serves, std::uint64_t seed)
    : host(fabric, a, device_for(setting, qps), setting.profile.chip, seed), receive_entries(receives) {
  host::Device& device = host.device();
  domain = need(device.create_domain(), "a protection domain");
  const std::uint64_t per_thread = (std::uint64_t{qps} / setting.threads + 1);
  const std::uint64_t entries = per_thread * (send_entries(setting) + receives) + 16;
  for (std::uint32_t i = 0; i < setting.threads; ++i) {
    cqs.push_back(need(device.create_cq(static_cast<std::uint32_t>(entries)), "a completion queue"));
  }
  bytes = memory_bytes(setting, serves, qps);
  // Where the card has large pages, the memory begins with one.
  const std::uint64_t page = setting.profile.chip.tlb.entries != 0 ? setting.profile.chip.tlb.page_bytes : 64;
  all_ = std::make_unique_for_overwrite<std::byte[]>(bytes + page);
  memory = all_.get() + (page - std::bit_cast<std::uintptr_t>(all_.get()) % page);
  address = std::uint64_t{host.index() + 1} << 40;
  key = need(device.register_region(domain, {memory, bytes, address, kRights, setting.page_bytes}), "a memory region");
  if (serves && calls_kernels(setting)) deploy(setting, device);
}

Testbed::Testbed(const Setting& setting) : fabric_(setting.seed) {
  fabric_.trace().skip_deliveries();
  if (setting.clients == 0 || setting.threads == 0 || setting.depth == 0 || setting.qps < setting.clients) {
    throw std::runtime_error("every client needs a thread, a queue pair and a message");
  }
  for (std::uint32_t i = 0; i <= setting.clients; ++i) {
    const std::uint32_t qps = i == 0 ? setting.qps : (setting.qps + setting.clients - 1) / setting.clients;
    const bool asks = (i == 0) == (setting.asker == Asker::server);
    stations_.push_back(std::make_unique<Station>(fabric_, address_of(i), setting, qps, receive_entries(setting, asks),
                                                  i == 0, fabric_.random().next()));
  }
  const sim::LinkSpec link = link_for(setting);
  if (setting.clients == 1) {
    sim::connect_back_to_back(fabric_, 0, 1, link);
    if (can_pause(setting)) fabric_.let_pause(0);
  } else {
    const sim::SwitchIndex center = sim::connect_star(fabric_, link);
    if (setting.switch_buffer_bytes > 0) fabric_.set_buffer(center, buffer_for(setting));
  }
  if (setting.loss > 0) {
    world::FaultPlan faults;
    faults.loss = setting.loss;
    for (const auto& station : stations_) {
      const bool asks = (station == stations_.front()) == (setting.asker == Asker::server);
      if (!asks && setting.lost_on == LostOn::way_out) continue;
      fabric_.set_faults(fabric_.uplink(station->host.index()), faults);
    }
  }
  connect_all(setting);
}

void Testbed::connect_all(const Setting& setting) {
  for (std::uint32_t i = 0; i < setting.qps; ++i) {
    const std::uint32_t which = i % setting.clients;
    Station& there = client(which);
    const End a = add_end(setting, server());
    const End b = add_end(setting, there);
    bring_up(setting, *a.qp, address_of(which + 1), b.qp->qpn());
    bring_up(setting, *b.qp, address_of(0), a.qp->qpn());
  }
}

End Testbed::add_end(const Setting& setting, Station& station) {
  const auto thread = static_cast<std::uint32_t>(station.ends.size() % setting.threads);
  host::QpOptions options;
  options.limits = {.send_entries = std::bit_ceil(send_entries(setting)),
                    .receive_entries = station.receive_entries,
                    .inline_bytes = setting.inline_bytes};
  options.role = role_of(setting, &station == stations_.front().get());
  const bool serves = &station == stations_.front().get();
  if (calls_kernels(setting)) {
    options.limits.inline_bytes = std::max(setting.inline_bytes, kMostParameters);
    options.serves_calls = serves ? kServedCalls : 0;
    options.may_call = !serves;
  }
  options.send_cq = options.receive_cq = station.cqs[thread];
  host::QueuePair* qp = need(station.host.device().create_qp(station.domain, options), "a queue pair");
  station.ends.push_back({qp, qp->poster(), thread});
  return station.ends.back();
}

void Testbed::bring_up(const Setting& setting, host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn) {
  using M = host::QpMask;
  host::QpAttributes a;
  a.rights = kRights;
  a.peer = peer;
  a.peer_qpn = peer_qpn;
  a.mtu = static_cast<std::uint16_t>(setting.mtu);
  a.max_reads = a.max_peer_reads =
      static_cast<std::uint8_t>(std::min<std::uint32_t>(setting.depth, setting.profile.device.max_reads));
  a.ack_timeout = static_cast<std::uint8_t>(setting.ack_timeout);
  const auto go = [&](nic::QpState to, std::uint32_t mask) {
    a.state = to;
    need(qp.modify(a, M::state | mask), "to connect a queue pair");
  };
  go(nic::QpState::init, M::pkey_index | M::port | M::rights);
  go(nic::QpState::rtr, M::path | M::mtu | M::peer_qpn | M::receive_psn | M::max_peer_reads | M::min_rnr_timer);
  go(nic::QpState::rts, M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads | M::send_psn);
}

}  // namespace weft::lab
