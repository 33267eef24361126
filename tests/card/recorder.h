// One card that talks to nobody, and a world that writes down what the card reads over the bus. Unreliable work is done
// when it is sent, so nobody has to answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/device.h"
#include "nic/card.h"
#include "nic/reveal.h"

namespace weft::test {

struct Read {
  nic::BusRead purpose{};
  std::size_t bytes = 0;
  friend bool operator==(const Read&, const Read&) = default;
};

class Recorder {
 public:
  static constexpr nic::Capabilities kCapabilities{};

  explicit Recorder(host::Device& device) : device_(device) {}

  void emit(const nic::OutPacket& packet) {
    ++packets;
    lasts.push_back(packet.last);
    for (const nic::Fragment& piece : packet.payload) sent.insert(sent.end(), piece.data, piece.data + piece.bytes);
  }
  void complete(std::uint32_t cq, const nic::Completion&) { nic::reveal(device_.card(), *this, 0, cq); }
  void notify(const nic::HostEvent& event) { device_.on_event(event); }
  void tell(const nic::LossEvent& e) { device_.tell(e); }
  void dma_write(std::byte* to, std::span<const std::byte> data) { std::copy(data.begin(), data.end(), to); }
  void read(nic::BusRead purpose, const void*, std::size_t bytes) {
    if (purpose == nic::BusRead::work_under_way) {
      under_way.push_back({purpose, bytes});
    } else if (purpose != nic::BusRead::payload) {
      reads.push_back({purpose, bytes});
    }
  }
  void write(nic::BusWrite, const void*, std::size_t) {}
  void touch(nic::OnChip, std::uint64_t) {}
  bool reach(std::byte*, std::size_t, bool) { return true; }

  std::vector<Read> reads;      // but for payload,
  std::vector<Read> under_way;  //   and for what has been sent before
  std::vector<std::byte> sent;
  std::uint64_t packets = 0;
  std::vector<bool> lasts;  // of each packet: does it say that it is the last?

 private:
  host::Device& device_;
};

class LonelyCard {
 public:
  static constexpr std::uint64_t kAddress = 1ULL << 40;  // of the memory
  static constexpr std::uint32_t kEntries = 16;          // of a send queue, each of 64 bytes
  static constexpr std::uint16_t kMtu = 1024;

  explicit LonelyCard(nic::CardConfig config, std::size_t memory_bytes = 64 * 1024,
                      std::uint64_t page_bytes = nic::kSmallestPage)
      : device_(with_address(config), numbers_), world(device_), card_(device_.card(), world), memory(memory_bytes) {
    domain = *device_.create_domain();
    cq = *device_.create_cq(1024);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 251);
    key = *device_.register_region(domain,
                                   {memory.data(), memory.size(), kAddress, nic::Rights::local_write, page_bytes});
  }

  host::QueuePair& add_qp(wire::Service service = wire::Service::uc) {
    host::QueuePair& qp = **device_.create_qp(
        domain, {.service = service, .limits = {.send_entries = kEntries}, .send_cq = cq, .receive_cq = cq});
    bring_up(qp);
    return qp;
  }
  void bring_up(host::QueuePair& qp) {
    using M = host::QpMask;
    host::QpAttributes a;
    a.peer = wire::Address::v4(10, 0, 0, 2);
    a.peer_qpn = wire::Qpn(77);
    a.mtu = kMtu;
    const auto go = [&](nic::QpState to, std::uint32_t mask) {
      a.state = to;
      if (qp.modify(a, M::state | mask) != host::Error::none) throw std::logic_error("modify");
    };
    const bool rc = qp.options().service == wire::Service::rc;
    go(nic::QpState::init, M::pkey_index | M::port | M::rights);
    go(nic::QpState::rtr,
       M::path | M::mtu | M::peer_qpn | M::receive_psn | (rc ? M::max_peer_reads | M::min_rnr_timer : 0));
    go(nic::QpState::rts, M::send_psn | (rc ? M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads : 0));
    hear();
  }
  void send(host::QueuePair& qp, std::uint64_t offset, std::uint32_t bytes) {
    const nic::Sge sge{kAddress + offset, bytes, key};
    const std::span sges(&sge, bytes == 0 ? 0U : 1U);
    if (qp.post_send({.kind = nic::WorkKind::send, .sges = sges}) != host::Error::none) throw std::logic_error("post");
  }
  void hear() {
    device_.take_doorbells([&](std::uint32_t slot) { card_.on_doorbell(0, slot); });
  }
  // Each doorbell with a turn.
  void hear_and_turn() {
    device_.take_doorbells([&](std::uint32_t slot) { card_.on_doorbell_and_turn(0, slot); });
  }
  void turn() {
    hear();
    card_.transmit(0, 1);
  }
  void turn_all() {
    hear();
    while (card_.has_work()) card_.transmit(0, 1);
  }
  // The peer acknowledges all that this reliable connection has sent.
  void acknowledge(const host::QueuePair& qp) {
    wire::Packet ack;
    ack.flow = {.source = qp.context().peer, .destination = device_.config().gids[0]};
    ack.headers.bth.opcode = wire::Opcode::rc_ack;
    ack.headers.bth.destination = qp.qpn();
    ack.headers.bth.psn = qp.context().next_psn.plus(~0U);
    ack.headers.aeth.syndrome = wire::Syndrome::kNoCredits;
    card_.on_packet(0, ack);
  }
  // The peer of this connection sends an empty message.
  void take_message(const host::QueuePair& qp) {
    wire::Packet message;
    message.flow = {.source = qp.context().peer, .destination = device_.config().gids[0]};
    message.headers.bth.opcode =
        qp.options().service == wire::Service::rc ? wire::Opcode::rc_send_only : wire::Opcode::uc_send_only;
    message.headers.bth.destination = qp.qpn();
    message.headers.bth.psn = qp.context().expected_psn;
    card_.on_packet(0, message);
  }
  [[nodiscard]] bool has_work() const { return card_.has_work(); }
  [[nodiscard]] std::uint64_t counted(nic::Counter c) const { return device_.card().counters.get(c); }
  [[nodiscard]] host::Device& device() { return device_; }
  // What has been read since this was last asked.
  [[nodiscard]] std::vector<Read> take_reads() { return std::exchange(world.reads, {}); }

 private:
  class Numbers final : public host::RandomSource {
   public:
    std::uint64_t next() override { return state_ += 0x9E37'79B9'7F4A'7C15; }

   private:
    std::uint64_t state_ = 1;
  };
  static host::DeviceConfig with_address(const nic::CardConfig& card) {
    host::DeviceConfig config;
    config.card = card;
    config.gids = {wire::Address::v4(10, 0, 0, 1)};
    return config;
  }

  Numbers numbers_;
  host::Device device_;

 public:
  Recorder world;

 private:
  nic::Card<Recorder> card_;

 public:
  std::vector<std::byte> memory;
  host::Domain domain{};
  host::CompletionQueue* cq = nullptr;
  wire::Key key{};
};

}  // namespace weft::test

namespace weft::nic {
extern template class Card<test::Recorder>;
}
