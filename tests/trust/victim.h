// One card under attack. The test plays everybody else: the peers, the forger, the host's program and the clock. Every
// input answers with all that it caused, as a value, so that "and nothing else happened" can be said and checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "crafted.h"
#include "host/device.h"
#include "nic/card.h"

namespace weft::trust {

inline constexpr nic::Rights kAllRights = nic::Rights::local_write | nic::Rights::remote_write |
                                          nic::Rights::remote_read | nic::Rights::remote_atomic |
                                          nic::Rights::bind_window;
inline constexpr wire::Address kOurAddress = wire::Address::v4(10, 0, 0, 1);
inline constexpr wire::Address kOurSecondAddress = wire::Address::v4(10, 0, 1, 1);
inline constexpr wire::Address kOurSixAddress{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
inline constexpr wire::Address kPeerAddress = wire::Address::v4(10, 0, 0, 2);
inline constexpr wire::Address kPeerSixAddress{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};

class SeededNumbers final : public host::RandomSource {  // splitmix64
 public:
  explicit SeededNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// The world that writes down what the card does to it.
class RecordingWorld {
 public:
  static constexpr nic::Capabilities kCapabilities{.bursts = true};

  explicit RecordingWorld(host::Device& device) : device_(device) {}

  void emit(const nic::OutPacket& packet);
  void complete(std::uint32_t cq, const nic::Completion& done);
  void notify(const nic::HostEvent& event);
  void tell(const nic::LossEvent& e) { device_.tell(e); }
  void dma_write(std::byte* to, std::span<const std::byte> data);
  std::size_t fetch(std::span<const nic::OneCopyPiece> pieces);  // none, unless there is a fetcher
  nic::BurstLimits burst_limits(const wire::Flow&, wire::Qpn) { return {}; }
  void revoke_all() {}
  void revoke(const std::byte*, std::uint64_t) {}
  void read(nic::BusRead, const void*, std::size_t) {}
  void write(nic::BusWrite, const void*, std::size_t) {}
  void touch(nic::OnChip, std::uint64_t) {}
  bool reach(std::byte*, std::size_t, bool writes) { return writes ? writable : readable; }

  Time now = 0;
  bool readable = true, writable = true;  // what is behind on-demand regions
  std::uint32_t fetches = 0;              // of exported payloads
  std::size_t (*fetcher)(std::span<const nic::OneCopyPiece>) = nullptr;
  std::vector<Crafted> sent;
  std::vector<nic::HostEvent> events;

 private:
  host::Device& device_;
};

// A stretch of the host's memory, between two stretches that nobody may touch.
struct Area {
  std::uint64_t address = 0;  // as work and peers call it
  std::span<std::byte> bytes{};
  std::size_t offset = 0;  // in the host's memory, as Effects::written calls it
  wire::Key key{};
  [[nodiscard]] nic::Sge sge(std::uint64_t from = 0) const {
    return {address + from, static_cast<std::uint32_t>(bytes.size() - from), key};
  }
  [[nodiscard]] nic::Sge sge(std::uint64_t from, std::uint32_t length) const { return {address + from, length, key}; }
};

struct Written {
  std::size_t offset = 0, bytes = 0;
  friend bool operator==(const Written&, const Written&) = default;
};

// All that one input has caused.
struct Effects {
  std::vector<Crafted> sent;
  std::vector<nic::Completion> completions;  // that a program can see
  std::vector<nic::HostEvent> events;
  std::vector<std::pair<Refusal, std::uint64_t>> refusals;
  std::vector<wire::Qpn> touched;  // queue pairs whose context is not what it was
  std::vector<Written> written;    // bytes of host memory that are not what they were
  bool guards_broken = false;      // some of them nobody has registered
};

// A connection with a peer that the test plays.
struct Connection {
  host::QueuePair* qp = nullptr;
  wire::Service service{};
  wire::Address ours{}, peer{};
  wire::Qpn peer_qpn{};
  wire::Psn next{};  // of the peer's next request
  wire::Qkey qkey{};
  std::uint32_t mtu = 0;

  [[nodiscard]] wire::Qpn qpn() const { return qp->qpn(); }
  [[nodiscard]] nic::QpState state() const { return qp->state(); }
  // A packet of the peer's, with its next PSN, which stays its next.
  [[nodiscard]] Crafted request(wire::Opcode opcode) const;
  // The same; the peer has moved on.
  [[nodiscard]] Crafted next_request(wire::Opcode opcode, std::uint32_t psns = 1);
  // A whole message of the peer's, packet by packet; the peer has moved on.
  [[nodiscard]] std::vector<Crafted> next_write(const Area& area, std::uint32_t bytes, unsigned seed = 1);
  [[nodiscard]] std::vector<Crafted> next_send(std::uint32_t bytes, unsigned seed = 1);
  [[nodiscard]] Crafted answer(wire::Opcode opcode, wire::Psn psn) const;
  [[nodiscard]] Crafted ack(wire::Psn psn, wire::Syndrome syndrome = wire::Syndrome::ack()) const;

 private:
  [[nodiscard]] std::vector<Crafted> next_message(const nic::MessageOpcodes& opcodes, std::uint32_t bytes,
                                                  unsigned seed);
};

struct ConnectOptions {
  wire::Service service = wire::Service::rc;
  nic::QpState until = nic::QpState::rts;
  host::QpAttributes attributes{.rights = kAllRights,
                                .peer = kPeerAddress,
                                .mtu = 256,
                                .peer_qpn = wire::Qpn(0x00'4242),
                                .receive_psn = wire::Psn(0x10'0000),
                                .send_psn = wire::Psn(0x20'0000),
                                .qkey = wire::Qkey(0x1122'3344),
                                .ack_timeout = 10,
                                .max_reads = 4,
                                .max_peer_reads = 4};
  host::QpLimits limits{
      .send_entries = 32, .receive_entries = 32, .send_sges = 4, .receive_sges = 4, .inline_bytes = 64};
  nic::Dialect dialect = nic::Dialect::roce;
  host::Domain domain = 0;
  host::SharedReceiveQueue* srq = nullptr;
  host::CompletionQueue* cq = nullptr;  // nullptr: the victim's; what is in another the test takes itself
  bool greeted = true;  // the first packet has been heard: nothing that happens only once is still to come
};

class Victim {
 public:
  explicit Victim(std::uint64_t seed = 1, std::size_t memory_bytes = 128 * 1024);

  [[nodiscard]] host::Device& device() { return device_; }
  [[nodiscard]] host::CompletionQueue& cq() { return *cq_; }
  [[nodiscard]] Time now() const { return world_.now; }
  [[nodiscard]] std::uint64_t count(nic::Counter c) const { return device_.card().counters.get(c); }
  [[nodiscard]] std::uint64_t count(Refusal r) const { return device_.card().counters.get(r); }

  // What happens until end_set_up() causes nothing: nobody looks, which is quicker where there is much to be made.
  void begin_set_up() { being_set_up_ = true; }
  void end_set_up() {
    being_set_up_ = false;
    (void)collect();
  }

  // -- what is there --
  [[nodiscard]] Connection connect(const ConnectOptions& options = {});
  [[nodiscard]] host::Domain domain() const { return domain_; }
  [[nodiscard]] host::Domain other_domain() const { return other_domain_; }
  [[nodiscard]] RecordingWorld& world() { return world_; }
  [[nodiscard]] Area allocate(std::size_t bytes, nic::Rights rights = kAllRights);
  // `address` is what others call its first byte; `shift` moves it off its alignment in this process.
  [[nodiscard]] Area allocate_at(std::uint64_t address, std::size_t bytes, nic::Rights rights, host::Domain domain,
                                 std::size_t shift = 0);

  // -- inputs, and all that each of them causes --
  Effects receive(const Crafted& packet);
  Effects receive_burst(const Crafted& packet, std::uint32_t packets,
                        std::size_t one_copy_bytes);      // its payload stays with the sender
  Effects receive_all(std::span<const Crafted> packets);  // before the card has a chance to answer the first
  Effects receive_packets(std::span<const wire::Packet> packets);
  Effects receive_frame(std::span<const std::byte> frame);  // bytes from the wire
  Effects receive_datagram(std::span<const std::byte> udp_payload, const wire::Flow& flow);
  Effects post(Connection& c, const host::WorkRequest& request);
  Effects post_receive(Connection& c, const nic::Sge& sge, std::uint64_t id = 100);
  Effects modify(Connection& c, const host::QpAttributes& attributes, std::uint32_t mask);
  void destroy(const Connection& c);
  Effects wait(Time duration);
  Effects settle();                         // after calls to the device itself
  Effects take_turns(std::uint32_t turns);  // with hold(): so many turns of the scheduler
  void hold(bool held) { held_ = held; }    // the card sends nothing of itself

  // How long until the card wants to be called.
  [[nodiscard]] Time next_deadline() const { return card_.next_deadline(); }

 private:
  static host::DeviceConfig config();
  void hear(const wire::Packet& packet);
  void hear_frame(std::span<const std::byte> frame);
  void drive();
  [[nodiscard]] Effects collect();
  void collect_contexts(Effects& out);
  void collect_memory(Effects& out);
  void note_written(std::size_t at, Effects& out) const;
  void collect_refusals(Effects& out);

  static constexpr std::size_t kGuardBytes = 64;
  static constexpr std::uint32_t kCqEntries = 512;  // more than all queue pairs of a test have work for

  SeededNumbers numbers_;
  host::Device device_;
  RecordingWorld world_;
  nic::Card<RecordingWorld> card_;
  host::Domain domain_, other_domain_;
  host::CompletionQueue* cq_;
  std::vector<std::byte> memory_, memory_before_;
  std::vector<char> guarded_;  // by byte, 1: nobody may touch it. Not bits: those are set one by one
  std::size_t allocated_ = 0;
  std::uint32_t next_peer_ = 0;
  bool held_ = false, being_set_up_ = false;
  using ContextBytes = std::array<std::byte, sizeof(nic::Context)>;
  std::vector<ContextBytes> contexts_before_;
  nic::Counters counters_before_{};
};

}  // namespace weft::trust

namespace weft::nic {
extern template class Card<trust::RecordingWorld>;
}
