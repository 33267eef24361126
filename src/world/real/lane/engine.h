// What is inside a lane: the card and its port, driven by the program or by a thread of the lane's own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/device.h"
#include "nic/card.h"
#include "wire/flow_icrc.h"
#include "world/large_pages.h"
#include "world/real/broker/broker_client.h"
#include "world/real/lane/broker_return.h"
#include "world/real/lane/drive_policy.h"
#include "world/real/lane/effects.h"
#include "world/real/lane/lane.h"
#include "world/real/lane/negotiation.h"
#include "world/real/lane/role_moves.h"
#include "world/real/lane/stats.h"
#include "world/real/os/lane_clock.h"
#include "world/real/os/lane_thread.h"
#include "world/real/os/system_random.h"

namespace weft::real {

class Lane::Engine : public PrintsStats, private host::MoverWorld {
 public:
  Engine(const Settings& settings, LaneOwner& owner, LaneLock& lock);
  ~Engine() override;

  [[nodiscard]] tl::expected<void, Trouble> attach();
  [[nodiscard]] BrokerClient::Self self() const;

  [[nodiscard]] host::Device& device() { return device_; }
  [[nodiscard]] BrokerClient& broker() { return broker_; }
  [[nodiscard]] std::uint8_t lane_number() const { return port_.lane_number(); }

  [[nodiscard]] bool reaches(const wire::Address& address, std::uint8_t lane_number);
  void rest() {
    if (policy_.yields()) yield_processor();
  }
  // With the lock held.
  void rang(std::uint32_t slot = nic::kNone);
  [[nodiscard]] tl::expected<void, Trouble> play(host::StarRole role);
  [[nodiscard]] tl::expected<void, Trouble> on_playing(Incoming in);
  void polled() {
    device_.card().receives_low = false;  // it sees what has come, and posts more
    if (policy_.on_poll()) take_over();
  }
  void poll();
  void armed();
  void flush();
  void abandon();
  [[nodiscard]] MoveCounts moves() const { return {moves_.made(), moves_.refused()}; }
  void send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad);
  [[nodiscard]] std::string report(const std::string& question);
  [[nodiscard]] nlohmann::json explain(wire::Qpn qpn);
  void print_stats() override;  // to standard error, once, if the user asked for it

 private:
  using Guard = std::unique_lock<LaneLock>;

  // -- all thresholds of the loop; those of policies stand in their files
  static constexpr std::uint32_t kBatch = 32;      // packets that are judged together
  static constexpr std::uint32_t kTurns = 64;      // of the scheduler, before others get the lock
  static constexpr std::uint32_t kLastLooks = 32;  // at the sockets, for what one who has gone left there

  [[nodiscard]] std::optional<Trouble> begin(BrokerClient::Joined joined);
  [[nodiscard]] std::optional<Trouble> open_port(BrokerClient::Joined joined);

  // -- driving (engine.cc) --
  [[gnu::cold]] void take_over();
  // What the program is likely to answer at once. What is owed leaves with the answer, then.
  enum class Answers : std::uint8_t {
    no,              // it answers nothing: it does not drive
    to_completions,  // it polls, and sees them
    to_anything,     // it looks at its memory, and sees WRITEs there
  };
  // kAsk: whoever wants to know reads the clock.
  void set_now(Time now) {
    effects_.set_now(now);
    if (now != nic::kAsk) port_.set_now(now);
  }
  void progress(Time now, Answers answers);
  void hear_one(LocalPeer& from);
  void send_or_wait(Time now, Answers answers, bool seen);
  [[gnu::cold]] void greet_local_peers();
  void on_met(Incoming& in);
  void transmit(Time now, std::uint32_t rang = nic::kNone);  // a doorbell that the card has not heard of
  void wake_in_time();
  void on_time(Time now);
  [[nodiscard]] Time next_deadline() const {
    const host::StatelessSide* const stateless = device_.stateless();
    return std::min({card_.next_deadline(), inspection_.next_deadline(), negotiation_.next_deadline(),
                     moves_.next_deadline(), broker_return_.next_try(),
                     stateless == nullptr ? kNever : stateless->next_deadline()});
  }
  // May what comes and goes through rings do so without anybody's knowing the time?
  [[nodiscard]] bool is_timeless() const { return port_.has_rings() && !inspection_.is_on(); }
  bool receive();
  void send(const wire::Flow& flow, std::span<const std::byte> datagram);  // leaves with port_.flush()
  void hear(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
    if (inspection_.is_on()) [[unlikely]]
      return hear_inspected(flow, datagram, how);
    take(flow, datagram, how);
  }
  [[gnu::cold]] void hear_inspected(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how);
  void take(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how);
  [[gnu::cold]] void refuse(const wire::Flow& flow, std::span<const std::byte> datagram, Refusal why);
  void settle();
  void serve_losses();
  [[gnu::cold]] void hear_posts(host::StatelessSide& stateless);
  [[gnu::cold]] void hand_on(const wire::Flow& flow, std::span<const std::byte> datagram);

  // -- what connections speak (engine_dialect.cc) --
  void deliver_doorbells(Time now);
  void hear_doorbell(Time now, std::uint32_t slot);
  void learn_of(std::uint32_t slot);
  void learn_of(const nic::StatelessBlock& block);
  [[gnu::cold]] void look_for_partner(Time now, const nic::Context& c);
  [[nodiscard]] Negotiation::Connection connection_of(const nic::Context& c) const;
  [[gnu::cold]] void ask_about_kernels(Time now, const nic::Context& c);
  [[gnu::cold]] void judge_partner(host::QueuePair& qp, wire::StarRoles peers);
  [[gnu::cold]] void note_state(Time now, std::uint32_t slot, const nic::Context& c);
  void decide(host::QueuePair& qp, Negotiation::Outcome outcome, const Negotiation::Facts& peer);
  void become_stateful(host::QueuePair& qp);
  void become_stateless(host::QueuePair& qp);
  [[gnu::cold]] void play_from_now(host::StarRole role);
  void offer(Time now, const nic::StatelessBlock& block);
  [[gnu::cold]] void on_offer(const wire::VendorMad& m);
  void say(Negotiation::Question question);
  [[gnu::cold]] void consult(Time now, std::uint32_t slot);
  [[nodiscard]] std::optional<Message> ask_broker(const Negotiation::Peer& peer);
  Negotiation::Outcome begin_to_ask(Time now, const Negotiation::Connection& connection, bool broker_has_said);
  void on_consulted(const Message& late);
  void negotiate(Time now);
  void settle_dialect(const Negotiation::Settled& settled);
  [[nodiscard]] bool heard_about_dialect(const wire::Flow& flow, std::span<const std::byte> mad);
  [[nodiscard]] bool is_credible(const wire::Flow& flow, const wire::VendorMad& question);

  // -- moves of running connections (engine_moves.cc) --
  void say(const host::QueuePair& qp, const wire::MoveMad& m) override;
  [[nodiscard]] bool agrees(const host::QueuePair& qp, const wire::MoveMad& asked) override;
  void prepare(host::StarRole role) override {
    if (role != host::StarRole::none) play_from_now(role);
  }
  [[nodiscard]] bool is_prepared(host::StarRole role) override {
    return role == host::StarRole::none || port_.hears_star();
  }
  void moved(host::QueuePair& qp) override;
  void refused(host::QueuePair&) override { moves_.count_refused(); }
  void lost_peer(host::QueuePair& qp) override;
  void send_move(const wire::Address& from, const wire::Address& to, const wire::MoveMad& m);
  void hear_move(const wire::Flow& flow, const wire::MoveMad& m);

  // -- the lane's thread (engine_thread.cc) --
  [[nodiscard]] bool start_thread();
  void run();
  void tick(Guard& guard);
  void drive(Guard& guard);
  [[nodiscard]] bool found_packets(Answers answers);
  [[nodiscard]] bool leaves_the_rest();
  void wait_for_program(Guard& guard);
  void listen_to_port(bool on);
  void sleep(Guard& guard, Time until);
  void hear_broker(Guard& guard);
  void on_datagram(const Incoming& in, Guard& guard);
  void lose_broker();
  void come_back(Guard& guard);
  void answer(const Incoming& question);
  void kick();

  const Settings settings_;
  wire::StarRoles roles_;  // that queue pairs have played, or will: our broker knows of them
  LaneOwner& owner_;
  LaneLock& lock_;
  LaneClock clock_;
  SystemRandom random_;
  world::LargePageMemory memory_;
  host::Device device_;
  BrokerClient broker_;
  Port port_;
  Inspection inspection_;
  Journal journal_;
  Negotiation negotiation_;
  RoleMoves moves_;
  Effects effects_;
  nic::Card<Effects> card_;
  std::array<wire::Packet, kBatch> batch_;
  std::array<RingExport, kBatch> exports_;  // of those in the batch that are exported
  std::uint32_t batched_ = 0;
  wire::FlowIcrc icrc_;  // of what arrives

  DrivePolicy policy_;

  Descriptor status_memory_, wake_, kick_, watched_;
  bool listens_ = false;           // to the port, too
  std::uint32_t lines_known_ = 0;  // when it began to
  Mapping<SharedStatus> shared_status_;
  bool stopping_ = false, sleeping_ = false;
  Time wakes_at_ = kNever;
  BrokerReturn broker_return_;
  std::uint64_t not_handed_on_ = 0;  // packets of other lanes
  bool stats_printed_ = false;
  LaneThread thread_;
};

}  // namespace weft::real
