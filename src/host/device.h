// The card as programs hold it: protection domains, regions, windows, queues, events. Control calls change the
// card's tables; posting writes to rings in host memory and rings a doorbell, which the world carries to the card.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "host/error.h"
#include "host/exporter.h"
#include "host/queue_pair.h"
#include "host/queues.h"
#include "host/retransmission.h"
#include "host/star/stateless_side.h"
#include "nic/card_state.h"
#include "nic/world.h"

namespace weft::host {

// Where unpredictable numbers come from: the system in the real world, the seed in the simulated one.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual std::uint64_t next() = 0;
};

struct DeviceConfig {
  nic::CardConfig card{};
  std::vector<wire::Address> gids;
  std::uint16_t mtu = 4096;  // largest RoCE payload of the port
  std::uint32_t max_queue_entries = 32768, max_cq_entries = 1U << 22, max_sges = nic::kMaxSges, max_inline = 1024;
  std::uint8_t max_reads = 128;               // READs and atomics under way, each direction
  nic::Dialect dialect = nic::Dialect::roce;  // what reliable connections speak, unless it is decided for each
  StarRole role = StarRole::none;             // that reliable connections play in StaR, unless they say
  std::uint32_t max_stateless = 1024;         // StaR's stateless queue pairs; none costs the card anything
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  // where the pool lies
};

using Domain = std::uint32_t;
inline constexpr std::uint32_t kMostCalls = 1024;  // of a queue pair at once
inline constexpr Domain kMaxDomains = 1U << 16;    // as many as a context has numbers for

struct RegionOptions {
  std::byte* memory = nullptr;
  std::uint64_t length = 0;
  std::uint64_t address = 0;  // what peers and work requests call the first byte
  nic::Rights rights = nic::Rights::none;
  std::uint64_t page_bytes = nic::kSmallestPage;  // an entry of the translation table each: 4 KB ... 1 GB
};

class Device {
 public:
  Device(const DeviceConfig& config, RandomSource& random);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const DeviceConfig& config() const { return config_; }
  [[nodiscard]] nic::CardState& card() { return card_; }
  [[nodiscard]] const nic::CardState& card() const { return card_; }
  // For what there may be thousands of, a few pages for many: rings, and objects of whoever has the device.
  [[nodiscard]] std::pmr::memory_resource& pool() { return pool_; }
  [[nodiscard]] wire::Psn random_psn() { return wire::Psn(static_cast<std::uint32_t>(random_.next())); }
  [[nodiscard]] std::uint64_t random_number() { return random_.next(); }  // nobody can guess it

  [[nodiscard]] Result<Domain> create_domain();
  Error destroy_domain(Domain domain);

  // Key of the new region: local and remote key are one.
  [[nodiscard]] Result<wire::Key> register_region(Domain domain, const RegionOptions& options);
  Error reregister_region(wire::Key key, std::optional<Domain> domain, const RegionOptions* translation,
                          std::optional<nic::Rights> rights);
  Error deregister_region(wire::Key key);
  // What translation tables take of host memory.
  [[nodiscard]] std::uint64_t translation_bytes() const { return translation_entries_ * sizeof(nic::TranslationEntry); }
  [[nodiscard]] Result<wire::Key> create_window(Domain domain, int type);
  Error destroy_window(wire::Key key);

  [[nodiscard]] Result<CompletionQueue*> create_cq(std::uint32_t entries, std::uint32_t channel = nic::kNone);
  Error destroy(CompletionQueue* cq);
  Error resize(CompletionQueue& cq, std::uint32_t entries);
  [[nodiscard]] Result<SharedReceiveQueue*> create_srq(Domain domain, std::uint32_t entries, std::uint32_t max_sges);
  Error destroy(SharedReceiveQueue* srq);
  [[nodiscard]] Result<QueuePair*> create_qp(Domain domain, const QpOptions& options);
  Error destroy(QueuePair* qp);
  [[nodiscard]] QueuePair* find_qp(wire::Qpn qpn);
  // Reliable queue pairs.
  [[nodiscard]] std::uint32_t connections() const { return connections_; }
  // Queue pairs made from now on have `prefix` in the top `bits` of their numbers: cards that share an address are told
  // apart by it. At most 24 bits less those that the table needs.
  void set_qpn_prefix(std::uint32_t prefix, std::uint32_t bits);
  // Calls visit(const QueuePair&) for every queue pair, in the order of their slots.
  template <class Visit>
  void for_each_qp(Visit&& visit) const {
    for (const auto& qp : qps_) {
      if (qp) visit(*qp);
    }
    for (const auto& [qpn, qp] : stateless_qps_) visit(*qp);
  }
  // The same for every completion queue and every shared receive queue.
  template <class Visit>
  void for_each_queue(Visit&& visit) const {
    for (const auto& cq : cqs_) {
      if (cq) visit(*cq);
    }
    for (const auto& srq : srqs_) {
      if (srq) visit(*srq);
    }
  }

  // Who revokes exported payloads, in a world that leaves them in host memory for peers to fetch; else nullptr.
  void set_exporter(Exporter* exporter) { exporter_ = exporter; }

  // -- events, as values --
  [[nodiscard]] Result<std::uint32_t> create_channel();
  Error destroy_channel(std::uint32_t channel);
  // The next completion queue of this channel that has something to say.
  [[nodiscard]] CompletionQueue* next_completion_event(std::uint32_t channel);
  // The channel of a completion queue; nic::kNone: it has none, or there is no such queue.
  [[nodiscard]] std::uint32_t channel_of(std::uint32_t cq) const {
    return cqs_[cq] != nullptr ? cqs_[cq]->channel : nic::kNone;
  }
  [[nodiscard]] bool has_completion_event(std::uint32_t channel) const { return channels_[channel].first != nullptr; }
  [[nodiscard]] std::optional<nic::HostEvent> next_async_event();
  void on_event(const nic::HostEvent& event);  // the world's part

  // -- loss recovery --
  void tell(const nic::LossEvent& e) { losses_.push(e); }  // the world's part, at once or later
  [[nodiscard]] bool losses_waiting() const { return !losses_.empty(); }
  // The world's part: the software hears of losses, and what it says goes to answer(const nic::ControlMessage&).
  template <class Answer>
  void take_losses(Answer&& answer) {
    while (!losses_.empty()) retransmission_.on_event(losses_.pop(), answer);
  }
  [[nodiscard]] const Retransmission& retransmission() const { return retransmission_; }

  // -- kernels (nic/kernels): functions of the program's that peers may call, by their op-code --
  // Replaces the one of this op-code. Calls that have begun end with the kernel that they began with.
  Error deploy(const nic::Kernel& kernel);
  Error remove_kernel(std::uint64_t opcode);
  [[nodiscard]] std::vector<nic::Kernel> kernels() const;

  // -- doorbells --
  void ring(nic::Context& c) {
    if (c.stateless()) [[unlikely]]
      return stateless_->ring(c);
    if (c.rung) return;
    c.rung = true;
    doorbells_.push(card_.contexts.slot_of(c));
  }
  [[nodiscard]] bool doorbells_waiting() const {
    return !doorbells_.empty() || (stateless_ != nullptr && stateless_->waiting());
  }
  // The world's part: hands each rung queue pair's slot to the card.
  template <class Deliver>
  void take_doorbells(Deliver&& deliver) {
    while (!doorbells_.empty()) {
      const std::uint32_t slot = doorbells_.pop();
      card_.contexts[slot].rung = false;
      deliver(slot);
    }
  }

  // -- StaR's stateless side; nullptr: no queue pair has ever played it --
  [[nodiscard]] StatelessSide* stateless() { return stateless_.get(); }
  [[nodiscard]] const StatelessSide* stateless() const { return stateless_.get(); }
  // Every capability that was given is exchanged for one under a new secret. Those of the old one stay good until
  // end_old_capabilities(), which revokes what was not exchanged.
  void renew_capabilities();
  void end_old_capabilities() { card_.capabilities.end_old_epoch(); }

 private:
  friend class QueuePair;
  struct Channel {
    CompletionQueue* first = nullptr;  // queues with an event to fetch, each at most once, linked by next_event
    CompletionQueue* last = nullptr;
    std::uint32_t users = 0;
    bool live = false;
  };
  static void forget_event(Channel& channel, CompletionQueue& cq);
  void lay_out(nic::Region& region);
  void forget_layout(nic::Region& region);
  void revoke(const nic::Region& region);  // what has been exported of it
  [[nodiscard]] Error judge_qp(Domain domain, const QpOptions& options) const;
  [[nodiscard]] bool has_domain(Domain d) const { return d < domain_users_.size() && domain_users_[d].has_value(); }
  struct Numbered {
    std::uint32_t slot;
    wire::Qpn qpn;
  };
  [[nodiscard]] std::optional<wire::Qpn> choose_qpn(std::uint32_t low, std::uint32_t count, wire::Qpn last);
  [[nodiscard]] std::optional<Numbered> take_numbered(nic::Slots& free, std::uint32_t count,
                                                      std::span<const wire::Qpn> last);
  void begin_stateless();
  [[nodiscard]] nic::CapabilityIssuer::Secret draw_secret();
  [[nodiscard]] bool has_room_for_stateless() const { return stateless_ == nullptr || !stateless_->full(); }
  [[nodiscard]] nic::StatelessBlock& take_block();
  [[nodiscard]] Result<QueuePair*> create_stateless(Domain domain, const QpOptions& options);

  DeviceConfig config_;
  RandomSource& random_;
  Exporter* exporter_ = nullptr;
  nic::CardState card_;
  std::pmr::unsynchronized_pool_resource pool_;
  std::vector<std::optional<std::uint32_t>> domain_users_;  // how many objects refer to each; empty: no such domain
  std::vector<Domain> free_domains_;
  nic::Slots qp_slots_, cq_slots_, srq_slots_;
  std::vector<wire::Qpn> last_qpns_;                      // of each slot's last owner
  std::uint32_t qpn_prefix_ = 0, qpn_noise_ = 0xFF'FFFF;  // fixed bits; bits that are free to choose
  void begin_kernels();
  std::unique_ptr<nic::KernelTable> kernels_;  // outlives queue pairs that are served by them
  std::unique_ptr<nic::DeployedKernel> no_kernel_;
  std::unique_ptr<StatelessSide> stateless_;  // outlives its queue pairs
  std::uint32_t connections_ = 0;             // reliable queue pairs
  std::vector<std::unique_ptr<QueuePair>> qps_;
  std::map<std::uint32_t, std::unique_ptr<QueuePair>> stateless_qps_;  // made so, by number
  std::vector<std::unique_ptr<CompletionQueue>> cqs_;
  std::vector<std::unique_ptr<SharedReceiveQueue>> srqs_;
  std::vector<Channel> channels_;
  std::vector<std::unique_ptr<nic::TranslationEntry[]>> tables_;  // of regions by slot; none if the card has no cache
  std::uint64_t translation_entries_ = 0;
  std::deque<nic::HostEvent> async_events_;
  nic::SlotQueue doorbells_;
  LossQueue losses_;
  Retransmission retransmission_{card_};
};

}  // namespace weft::host
