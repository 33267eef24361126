#include "lab/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "lab/calls.h"
#include "lab/fetch.h"
#include "lab/kernel_stream.h"
#include "lab/workload.h"
#include "wire/star.h"

namespace weft::lab {
namespace {

// Everything that only grows, at one moment: a measurement is the difference of two.
struct CardTotals {
  std::uint64_t pcie = 0, pcie_payload = 0, pcie_control = 0;  // bytes
  Time down_busy = 0, up_busy = 0;
  Time pipeline_busy = 0;  // of a sender of messages
  Time pausing = 0;        // of a receiver
};
struct Totals {
  Time when = 0;
  std::vector<CardTotals> cards;
  std::uint64_t context_misses = 0, work_misses = 0, translation_misses = 0, tlb_splits = 0;
  std::uint64_t wire_packets = 0, wire_bytes = 0;  // of the links that messages take
  std::uint64_t server_in = 0, server_out = 0;     // bytes of the server's link
  std::uint64_t sent = 0, again = 0, no_room = 0;
  Time paused = 0;                           // senders of messages, all together
  Time askers_busy = 0, answerers_busy = 0;  // threads
};

class Measurement {
 public:
  explicit Measurement(const Setting& setting) : setting_(setting), bed_(setting), meter_(messages_of(setting)) {
    meter_.on_start = [this](Time now) { start_ = totals(now); };
    meter_.on_end = [this](Time now) { end_ = totals(now); };
  }

  Outcome run() {
    start();
    constexpr std::uint64_t kEvents = 20'000;
    while (!is_over()) {
      const sim::Stop stop = bed_.fabric().run_until_idle(setting_.time_limit, kEvents);
      if (stop != sim::Stop::event_limit && !is_over()) throw std::runtime_error(why_unfinished(stop));
    }
    return outcome();
  }

 private:
  static std::string why_unfinished(sim::Stop stop) {
    return stop == sim::Stop::idle ? "nothing is under way any more, and too few messages have arrived"
                                   : "it did not end within its time_limit";
  }

  void start() {
    if (calls(setting_)) return start_calls();
    if (setting_.pattern == Pattern::fetch) return start_pairs<FetchServer, FetchClient>(fetchers_);
    if (setting_.operation == Operation::rpc_write) return start_pairs<KernelStreamServer, KernelStream>(kernels_);
    if (setting_.pattern == Pattern::stream) return start_stream();
    setting_.operation == Operation::write ? start_ping_pong<WritePingPong>() : start_ping_pong<PingPong>();
  }
  [[nodiscard]] bool is_over() const {
    return meter_.over() && std::all_of(kernels_.begin(), kernels_.end(), [](auto* k) { return k->is_finished(); });
  }

  void start_stream() {
    const std::vector<Station*> clients = all_clients();
    const std::vector<Station*> server{&bed_.server()};
    const bool server_asks = setting_.asker == Asker::server;
    begin<StreamServer>(server_asks ? clients : server, server_asks ? server : clients);
    for (Station* station : server_asks ? server : clients) watch(*station);
    begin<StreamClient>(server_asks ? server : clients, server_asks ? clients : server);
  }
  template <class Programs>
  void begin(const std::vector<Station*>& stations, const std::vector<Station*>& peers) {
    for (std::uint32_t i = 0; i < stations.size(); ++i) {
      auto side = std::make_unique<Programs>(setting_, *stations[i], i, Side::Peers(peers.begin(), peers.end()), meter_,
                                             seed());
      side->start(0);
      sides_.push_back(std::move(side));
    }
  }
  [[nodiscard]] std::vector<Station*> all_clients() {
    std::vector<Station*> clients;
    for (std::uint32_t i = 0; i < bed_.clients(); ++i) clients.push_back(&bed_.client(i));
    return clients;
  }
  template <class Server, class Client>
  void start_pairs(std::vector<Client*>& clients) {
    begin<Server>({&bed_.server()}, all_clients());
    begin<Client>(all_clients(), {&bed_.server()});
    for (std::size_t i = 1; i < sides_.size(); ++i) clients.push_back(static_cast<Client*>(sides_[i].get()));
  }
  template <class Ping>
  void start_ping_pong() {
    const Side::Peers client{&bed_.client(0)}, server{&bed_.server()};
    auto second = std::make_unique<Ping>(setting_, bed_.server(), client, meter_, seed(), false);
    auto first = std::make_unique<Ping>(setting_, bed_.client(0), server, meter_, seed(), true);
    second->start(0);
    first->start(0);
    half_round_trips_ = &first->half_round_trips();
    sides_.push_back(std::move(first));
    sides_.push_back(std::move(second));
  }
  void start_calls() {
    Side::Peers clients;
    for (std::uint32_t i = 0; i < bed_.clients(); ++i) clients.push_back(&bed_.client(i));
    auto server = std::make_unique<CallServer>(setting_, bed_.server(), clients, meter_, seed());
    server->start(0);
    sides_.push_back(std::move(server));
    for (std::uint32_t i = 0; i < bed_.clients(); ++i) {
      auto client =
          std::make_unique<CallClient>(setting_, bed_.client(i), i, Side::Peers{&bed_.server()}, meter_, seed());
      client->start(0);
      callers_.push_back(client.get());
      sides_.push_back(std::move(client));
    }
  }
  std::uint64_t seed() { return bed_.fabric().random().next(); }

  void watch(Station& station) {
    constexpr std::size_t kWatched = 32;
    const std::size_t step = std::max<std::size_t>(station.ends.size() / kWatched, 1);
    for (std::size_t i = 0; i < station.ends.size(); i += step) {
      const nic::Context& c = station.ends[i].qp->context();
      if (c.stateless()) continue;  // no slot of its card tells it from others
      station.host.estats().watch(station.ends[i].qp->slot(), 1U << c.sq_shift);
    }
  }

  // Does messages' payload leave the server's host? If clients read, or the server writes.
  [[nodiscard]] bool server_sends() const {
    return (setting_.operation == Operation::read) == (setting_.asker == Asker::clients);
  }

  Totals totals(Time now) {
    Totals t;
    t.when = now;
    t.no_room = bed_.fabric().counters().no_room;
    for (std::uint32_t i = 0; i < bed_.clients(); ++i) add(t, bed_.client(i), !server_sends());
    add(t, bed_.server(), server_sends());
    for (const auto& side : sides_) (side->asks() ? t.askers_busy : t.answerers_busy) += side->busy();
    return t;
  }
  void add(Totals& t, Station& s, bool sends) {
    using nic::Counter;
    using sim::BusUse;
    const sim::Shell& shell = s.host.shell();
    const nic::Counters& counters = s.host.counters();
    const sim::Bus& bus = shell.bus();
    t.cards.push_back({.pcie = bus.bytes(),
                       .pcie_payload = bus.bytes(BusUse::payload),
                       .pcie_control = bus.bytes(BusUse::control),
                       .down_busy = bus.down_busy(),
                       .up_busy = bus.up_busy(),
                       .pipeline_busy = sends ? shell.pipeline_busy() : 0,
                       .pausing = sends ? 0 : s.host.pausing_for()});
    t.context_misses += shell.contexts().misses;
    t.tlb_splits += shell.splits();
    t.translation_misses += counters.get(Counter::mtt_cache_misses);
    if (s.host.device().card().works.enabled()) t.work_misses += shell.work_misses();
    t.again += counters.get(Counter::retransmitted_pkts) + counters.get(Counter::read_responses_resent);
    t.sent += counters.get(Counter::sent_pkts);
    t.no_room += s.host.no_room();
    const sim::LinkCounters& wire = s.host.sent();
    (&s == &bed_.server() ? t.server_out : t.server_in) += wire.bytes;
    if (!sends) return;
    t.paused += s.host.paused_for();
    t.wire_packets += wire.packets;
    t.wire_bytes += wire.bytes;
  }

  // Bytes of a message's frames, without preamble and gap.
  [[nodiscard]] std::uint64_t frame_bytes() const {
    constexpr std::uint32_t kGap = 20;
    if (setting_.stateless != StatelessCards::nobody) return star_frame_bytes() - kGap;
    const bool srnic = setting_.profile.device.dialect == nic::Dialect::srnic;
    const bool write = setting_.operation == Operation::write, read = setting_.operation == Operation::read;
    const bool calls = setting_.operation == Operation::rpc_write;
    std::uint64_t sum = 0;
    for (std::uint32_t at = 0; at == 0 || at < setting_.bytes; at += setting_.mtu) {
      const bool starts = at == 0, ends = at + setting_.mtu >= setting_.bytes;
      const nic::MessageOpcodes opcodes =
          read ? nic::MessageOpcodes{wire::Opcode::rc_read_response_first, wire::Opcode::rc_read_response_middle,
                                     wire::Opcode::rc_read_response_last, wire::Opcode::rc_read_response_only}
               : nic::rc_opcodes(calls   ? nic::WorkKind::rpc_write
                                 : write ? nic::WorkKind::write
                                         : nic::WorkKind::send);
      const auto opcode = static_cast<std::uint8_t>(opcodes.at(starts, ends));
      const std::uint8_t kSrnicOpcodes = calls ? 0xE0 : 0xC0;
      sum += sim::wire_bytes(true, static_cast<wire::Opcode>(opcode | (srnic ? kSrnicOpcodes : 0)),
                             std::min(setting_.mtu, setting_.bytes - at)) -
             kGap;
    }
    return sum;
  }

  // The same in StaR, of the packets that carry data, with the preamble and gap of one.
  [[nodiscard]] std::uint64_t star_frame_bytes() const {
    const bool to_stateless = (setting_.stateless == StatelessCards::server) != server_sends();
    const wire::Opcode opcode = to_stateless ? wire::Opcode::star_rd : wire::Opcode::star_gda;
    const bool plain = setting_.profile.device.card.star_trust;
    const std::size_t header = plain ? wire::StarHeader::kBytes : wire::info(opcode).header_bytes;
    std::uint64_t sum = 20;
    for (std::uint32_t at = 0; at == 0 || at < setting_.bytes; at += setting_.mtu) {
      sum += sim::wire_bytes(true, header, std::min(setting_.mtu, setting_.bytes - at)) - 20;
    }
    return sum;
  }

  // What a card has done meanwhile.
  [[nodiscard]] double change_of(std::size_t card, auto member) const {
    return static_cast<double>(end_.cards[card].*member - start_.cards[card].*member);
  }
  // What of(card) is for the card where it is largest.
  [[nodiscard]] double largest(auto of) const {
    double most = 0;
    for (std::size_t card = 0; card < end_.cards.size(); ++card) most = std::max(most, of(card));
    return most;
  }
  [[nodiscard]] std::size_t busiest() const {
    std::size_t best = 0;
    for (std::size_t card = 1; card < end_.cards.size(); ++card) {
      if (change_of(card, &CardTotals::pcie) > change_of(best, &CardTotals::pcie)) best = card;
    }
    return best;
  }

  Outcome outcome() {
    // A call is counted once, and has several messages.
    const auto counted = static_cast<double>(meter_.messages());
    const double messages = calls(setting_) ? counted * (setting_.call_messages + 1) : counted;
    const auto ps = static_cast<double>(end_.when - start_.when);
    const auto gbps = [&](double bytes) { return bytes * 8 / ps * 1e3; };
    const auto change = [&](auto member) { return static_cast<double>(end_.*member - start_.*member); };
    const auto percent = [&](double part, double whole) { return whole == 0 ? 0 : part / whole * 100; };
    const double pcie = change_of(busiest(), &CardTotals::pcie);
    const auto use = [&](auto member) {
      return largest([&](std::size_t card) { return percent(change_of(card, member), ps); });
    };
    Outcome out{
        {"goodput_gbps", gbps(messages * setting_.bytes)},
        {"mac_gbps", gbps(messages * static_cast<double>(frame_bytes()))},
        {"raw_gbps", gbps(change(&Totals::wire_bytes) - 20 * change(&Totals::wire_packets))},
        {"message_rate", messages / ps * 1e6},
        {"call_rate", calls(setting_) ? counted / ps * 1e6 : 0},
        {"pcie_gbps", gbps(pcie)},
        {"pcie_extra_gbps", gbps(pcie - change_of(busiest(), &CardTotals::pcie_payload))},
        {"pcie_control_percent", largest([&](std::size_t card) {
           return percent(change_of(card, &CardTotals::pcie_control), change_of(card, &CardTotals::pcie));
         })},
        {"context_misses", change(&Totals::context_misses) / messages},
        {"work_misses", change(&Totals::work_misses) / messages},
        {"translation_misses", change(&Totals::translation_misses) / messages},
        {"pcie_down_use", use(&CardTotals::down_busy)},
        {"pcie_up_use", use(&CardTotals::up_busy)},
        {"wire_use", percent(change(&Totals::wire_bytes) * wire_byte_ps(), ps)},
        {"server_link_use",
         percent(std::max(change(&Totals::server_in), change(&Totals::server_out)) * link_byte_ps(), ps)},
        {"pipeline_use", use(&CardTotals::pipeline_busy)},
        {"asker_busy_percent", percent(change(&Totals::askers_busy), ps) / threads(setting_.asker == Asker::clients)},
        {"answerer_busy_percent",
         percent(change(&Totals::answerers_busy), ps) / threads(setting_.asker == Asker::server)},
        {"retransmitted_percent", percent(change(&Totals::again), change(&Totals::sent))},
        {"dropped_percent", percent(change(&Totals::no_room), change(&Totals::sent))},
        {"pausing_percent", use(&CardTotals::pausing)},
        {"paused_percent", percent(change(&Totals::paused), ps) / (server_sends() ? 1 : bed_.clients())},
    };
    out.emplace_back("span_ms", ps / 1e9);
    out.emplace_back("estimate_error_percent", estimate_error() * 100);
    out.emplace_back("tlb_splits", change(&Totals::tlb_splits) / messages);
    const Messages seen = messages_of(setting_);
    out.emplace_back("events", static_cast<double>(bed_.fabric().queue().made()) /
                                   static_cast<double>(seen.warm_up + seen.measured));
    add_latencies(out);
    return out;
  }
  // Root of the mean square.
  [[nodiscard]] double estimate_error() const {
    double sum = 0, count = 0;
    for (const KernelStream* k : kernels_) {
      for (const double e : k->errors()) {
        sum += e * e;
        ++count;
      }
    }
    return count == 0 ? 0 : std::sqrt(sum / count);
  }
  [[nodiscard]] double threads(bool of_clients) const { return setting_.threads * (of_clients ? bed_.clients() : 1.0); }
  [[nodiscard]] double link_byte_ps() const {
    const std::uint64_t rate = link_rate(setting_);
    return rate == 0 ? 0 : 8e12 / static_cast<double>(rate);
  }
  [[nodiscard]] double wire_byte_ps() const { return link_byte_ps() / (server_sends() ? 1 : bed_.clients()); }

  void add_latencies(Outcome& out) {
    std::array<double, sim::Estats::kPoints - 1> steps{};
    std::vector<Time> whole;
    const auto take = [&](Station& station) {
      for (const auto& s : station.host.estats().ended()) {
        for (std::size_t k = 0; k < steps.size(); ++k) steps[k] += static_cast<double>(s[k + 1] - s[k]);
        whole.push_back(s.back() - s.front());
      }
    };
    for (std::uint32_t i = 0; i < bed_.clients(); ++i) take(bed_.client(i));
    take(bed_.server());  // whoever did not ask has none
    const double n = std::max<double>(static_cast<double>(whole.size()), 1) * 1e6;
    constexpr std::array kNames{"t12_us", "t23_us", "t34_us", "t45_us", "t56_us"};
    double sum = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      out.emplace_back(kNames[k], steps[k] / n);
      sum += steps[k] / n;
    }
    out.emplace_back("t16_us", sum);
    if (half_round_trips_ != nullptr) whole = *half_round_trips_;
    for (const FetchClient* f : fetchers_) whole.insert(whole.end(), f->latencies().begin(), f->latencies().end());
    for (const CallClient* caller : callers_) {
      whole.insert(whole.end(), caller->latencies().begin(), caller->latencies().end());
    }
    std::sort(whole.begin(), whole.end());
    const auto at = [&](double share) {
      if (whole.empty()) return 0.0;
      return static_cast<double>(whole[static_cast<std::size_t>(share * static_cast<double>(whole.size() - 1))]) / 1e6;
    };
    double all = 0;
    for (const Time t : whole) all += static_cast<double>(t) / 1e6;
    out.emplace_back("latency_us", at(0.5));
    out.emplace_back("latency_mean_us", whole.empty() ? 0 : all / static_cast<double>(whole.size()));
    out.emplace_back("latency_p99_us", at(0.99));
  }

  const Setting& setting_;
  Testbed bed_;
  Meter meter_;
  std::vector<std::unique_ptr<Side>> sides_;
  const std::vector<Time>* half_round_trips_ = nullptr;
  std::vector<FetchClient*> fetchers_;
  std::vector<KernelStream*> kernels_;
  std::vector<const CallClient*> callers_;
  Totals start_, end_;
};

}  // namespace

Messages messages_of(const Setting& setting) {
  Messages m{setting.warm_up_messages, setting.messages};
  if (setting.total_bytes != 0) m.measured = std::max<std::uint64_t>(setting.total_bytes / setting.bytes, 1);
  const std::uint64_t qps = setting.qps;
  if (setting.pattern == Pattern::ping_pong || setting.pattern == Pattern::fetch) {
    if (m.warm_up == 0) m.warm_up = 20 * qps;
    if (m.measured == 0) m.measured = 200 * qps;
    return m;
  }
  if (calls(setting)) {
    if (m.warm_up == 0) m.warm_up = std::max<std::uint64_t>(1'000, 10 * qps);
    if (m.measured == 0) m.measured = std::max<std::uint64_t>(4'000, 20 * qps);
    return m;
  }
  // Long messages are many packets each.
  const std::uint64_t packets = (setting.bytes + setting.mtu - 1) / setting.mtu;
  if (m.warm_up == 0) m.warm_up = std::max<std::uint64_t>(5'000 / packets + 50, 2 * qps * std::min(setting.depth, 8U));
  if (m.measured == 0)
    m.measured = std::max<std::uint64_t>(40'000 / packets + 400, 2 * qps * std::min(setting.depth, 8U));
  return m;
}

Outcome run(const Setting& setting) { return Measurement(setting).run(); }

}  // namespace weft::lab
