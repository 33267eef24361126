// A lane that shares a ring and a status page with a hostile program of the same user. The input decides what that one
// writes: sound records of packets, bursts and exported payloads; any bytes anywhere in the shared memory; and bytes
// that change just before the lane reads them for the n-th time (late_change.h). These hold:
//   * what the lane takes for a datagram lies in the ring, and is not longer than any can be;
//   * what it takes for a packet is well formed, or a burst or export of an allowed length;
//   * one look at the rings ends, after a bounded number of records;
//   * memory that nobody registered, or that this peer may not write, never changes;
//   * what another program writes into its own ring arrives all the same, once and whole.
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz_bytes.h"
#include "late_change.h"
#include "trust/victim.h"
#include "wire/frame.h"
#include "world/real/lane/arrival.h"
#include "world/real/port/port.h"

namespace weft::real {
namespace {

using fuzz::FuzzBytes;
using fuzz::LateChange;
using fuzz::require;
using fuzz::watched;
using trust::Crafted;

constexpr std::uint8_t kOwnLane = 1, kHostileLane = 2, kHonestLane = 3;
constexpr std::uint32_t kBatch = 32;  // packets judged together, as in a lane

// What two lanes share, made once.
struct Shared {
  Descriptor channel_memory = make_shared_memory("fuzz-channel", sizeof(Channel)),
             status_memory = make_shared_memory("fuzz-status", sizeof(SharedStatus)),
             wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mapping<Channel> channel = Mapping<Channel>::of(channel_memory.get());
  Mapping<SharedStatus> status = Mapping<SharedStatus>::of(status_memory.get());

  [[nodiscard]] Ring& to_lane() const { return channel->rings[1]; }
  [[nodiscard]] std::span<std::byte> bytes() const { return std::as_writable_bytes(std::span(channel.get(), 1)); }

  // As the broker hands it out: zeros. The pages that were touched go, and are few.
  void reset() const {
    require(fallocate(channel_memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, sizeof(Channel)) == 0,
            "memory can be given back");
    new (status.get()) SharedStatus();
    status->takes_bursts.store(1);
  }
  [[nodiscard]] Incoming introduction(std::uint8_t lane_number) const {
    Incoming in;
    in.message = Message(Topic::met);
    in.message.local_peer = {.address = trust::kPeerAddress,
                             .lane_number = lane_number,
                             .versions = {},
                             .address_count = 1,
                             .addresses = {trust::kPeerAddress}};
    for (const Descriptor* d : {&channel_memory, &status_memory, &wake}) {
      in.descriptors.emplace_back(fcntl(d->get(), F_DUPFD_CLOEXEC, 0));
    }
    return in;
  }
};

const Shared& hostile_memory() {
  static const Shared memory;
  return memory;
}
const Shared& honest_memory() {
  static const Shared memory;
  return memory;
}

class Scene {
 public:
  explicit Scene(FuzzBytes& choices) : choices_(choices), one_copy_(some_one_copy(choices)) {
    victim_.world().fetcher = RingInput::fetch;
    area_ = victim_.allocate(16 * 1024);
    foreign_ = victim_.allocate_at(0x7'0000'0000, 1024, trust::kAllRights, victim_.other_domain());
    read_only_ = victim_.allocate(1024, nic::Rights::remote_read);
    connection_ = victim_.connect({.dialect = nic::Dialect::srnic});
    const nic::Sge all = area_.sge();
    for (std::uint64_t i = 0; i < 8; ++i) (void)connection_.qp->post_receive({.id = i, .sges = {&all, 1}});
    open();
  }
  ~Scene() { watched = {}; }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void step() {
    switch (choices_.next(8)) {
      case 0: return scribble();
      case 1: return change_words();
      case 2: return change_later();
      case 3: return send();
      case 4: return export_memory();
      case 5: return receive();
      default:
        write_record();
        if (choices_.one_in(2)) receive();
    }
  }

  void finish() {
    watched.change = {};
    for (int looks = 0; looks < 4; ++looks) receive();
    honest_ = 0;
    std::array<std::byte, 64> record{};
    record.fill(std::byte{0x5A});
    RingWriter out(honest_memory().to_lane());
    require(out.write(kHonestFlow, record) && out.publish(), "there is room in a ring of one's own");
    for (int looks = 0; looks < 4; ++looks) receive();
    require(honest_ == 1, "what another program writes arrives once");
  }

 private:
  static constexpr wire::Flow kHonestFlow{.source = wire::Address::v4(10, 9, 9, 9), .destination = trust::kOurAddress};

  static OneCopy some_one_copy(FuzzBytes& choices) {
    return choices.one_in(4) ? OneCopy::off : choices.one_in(2) ? OneCopy::on : OneCopy::measured;
  }

  // The same peer, when packets to it go through its sockets.
  static LocalPeer peer_by_udp() {
    const Incoming in = hostile_memory().introduction(kHostileLane);
    LocalPeer peer(kOwnLane, kHostileLane, Mapping<Channel>::of(in.descriptors[0].get()),
                   Mapping<SharedStatus>::of(in.descriptors[1].get()), Descriptor());
    peer.ring = false;
    return peer;
  }

  static Conversation no_broker() {
    std::array<int, 2> ends{-1, -1};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "a pair of sockets is to be had");
    ::close(ends[0]);
    return Conversation(Descriptor(ends[1]));
  }

  void open() {
    BrokerClient::Joined joined{.lane_number = kOwnLane, .sockets = {}};
    joined.sockets.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    port_.open(std::move(joined), {&trust::kOurAddress, 1}, own_status_, one_copy_, 1);
    Incoming hostile = hostile_memory().introduction(kHostileLane);
    Incoming honest = honest_memory().introduction(kHonestLane);
    port_.on_met(hostile);
    port_.on_met(honest);
    require(port_.local_peers() == 2, "both are met");
    find_mapping();
  }

  // Where the port sees the hostile memory: a mark that we write is found there.
  void find_mapping() {
    std::array<std::byte, 16> mark{};
    require(out_.write(kHonestFlow, mark), "a ring takes a record");
    position_ += out_.unpublished();
    out_.publish();
    (void)port_.receive(
        true, [&](const wire::Flow&, std::span<const std::byte> datagram, DatagramTraits) { ring_ = datagram.data(); },
        [] {});
    require(ring_ != nullptr, "a record arrives");
    ring_ -= sizeof(RecordHead) + sizeof(wire::Flow);  // the first byte of the ring's data
    auto* channel = const_cast<std::byte*>(ring_) - offsetof(Ring, data) - sizeof(Ring);
    watched = {.begin = channel, .end = channel + sizeof(Channel), .change = {}};
  }

  // ---- the hostile program

  // Anywhere, but mostly where the lane reads next.
  [[nodiscard]] std::size_t somewhere() {
    constexpr std::size_t kRing = sizeof(Ring);  // the second ring is the one to the lane
    if (choices_.one_in(8)) return choices_.next(sizeof(Channel) - 4);
    if (choices_.one_in(4)) return kRing + choices_.next(offsetof(Ring, data));
    const std::size_t at = newest_ + choices_.next(choices_.one_in(4) ? 512 : 96);
    return kRing + offsetof(Ring, data) + at % (Ring::kBytes - 4);
  }
  void scribble() {
    const std::size_t at = somewhere();
    const auto bytes = choices_.take(1 + choices_.next(8));
    const std::size_t count = std::min(bytes.size(), sizeof(Channel) - at);
    std::memcpy(hostile_memory().bytes().data() + at, bytes.data(), count);
  }
  void change_later() {
    LateChange change{.reads = 1 + static_cast<std::uint32_t>(choices_.next(64)), .at = somewhere()};
    const auto bytes = choices_.take(1 + choices_.next(4));
    change.count = static_cast<std::uint8_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), change.bytes.begin());
    watched.change = change;
  }
  [[nodiscard]] std::int64_t some_word() {
    constexpr std::int64_t kWords[] = {0, 1, -1, 1 << 20, INT64_MAX, INT64_MIN, 0x7FFF'FFFF};
    const std::int64_t word = kWords[choices_.next(std::size(kWords))];
    return choices_.one_in(4) ? choices_.number<std::int64_t>() : word;
  }
  void change_words() {
    Ring& in = hostile_memory().to_lane();
    Ring& out = hostile_memory().channel->rings[0];
    SharedStatus& status = choices_.one_in(2) ? own_status_ : *hostile_memory().status;
    const std::int64_t word = some_word();
    switch (choices_.next(11)) {
      case 0: return out.taken.store(static_cast<std::uint64_t>(word));
      case 1: return out.fetched.store(static_cast<std::uint64_t>(word));
      case 2: return out.takes_one_copy.store(static_cast<std::uint32_t>(word));
      case 3: return in.void_before.store(static_cast<std::uint64_t>(word));
      case 4: return in.write_cost.store(static_cast<std::uint32_t>(word));
      case 5: return status.udp_sent.store(word);
      case 6: return status.udp_taken.store(word);
      case 7: return status.udp_room.store(word);
      case 8: return status.asleep.store(static_cast<std::uint32_t>(word));
      case 9: return status.takes_bursts.store(static_cast<std::uint32_t>(word));
      default: return status.marks.store(static_cast<std::uint32_t>(word));
    }
  }
  // Only ever of this process, or of none: nobody else's memory is to be looked at.
  void export_memory() {
    Ring& in = hostile_memory().to_lane();
    const bool sound = !choices_.one_in(4);
    in.token.store(sound ? kToken : 1);
    in.token_address.store(choices_.one_in(8) ? static_cast<std::uint64_t>(some_word())
                                              : std::bit_cast<std::uint64_t>(&kToken));
    in.process.store(choices_.one_in(8) ? 0x7FFF'FFFF : getpid());
  }

  [[nodiscard]] wire::Key some_key() {
    switch (choices_.next(6)) {
      case 0: return foreign_.key;
      case 1: return read_only_.key;
      case 2: return wire::Key(choices_.number<std::uint32_t>());
      default: return area_.key;
    }
  }
  // A packet of the burst's dialect, in its turn or a little ahead of it.
  [[nodiscard]] Crafted packet() {
    constexpr unsigned kOpcodes[] = {0xC0, 0xC1, 0xC2, 0xC4, 0xC6, 0xC7, 0xC8,
                                     0xCA, 0xCA, 0xCB, 0xCC, 0xD1, 0xD3, 0xCE};
    const nic::Context& context = connection_.qp->context();
    const auto opcode = static_cast<wire::Opcode>(kOpcodes[choices_.next(std::size(kOpcodes))]);
    const wire::OpcodeInfo& info = wire::info(opcode);
    const auto ahead = static_cast<std::uint32_t>(choices_.one_in(2) ? 0 : choices_.next(8));
    const std::size_t bytes = !info.payload ? 0 : choices_.one_in(8) ? choices_.next(20'000) : choices_.next(1024);
    const wire::Key key = choices_.one_in(4) ? some_key() : area_.key;
    return connection_.request(opcode)
        .psn(context.expected_psn.plus(ahead))
        .in(static_cast<std::uint32_t>(choices_.next(4)),
            context.rq_done + static_cast<std::uint32_t>(choices_.next(2)),
            info.starts() ? 0 : static_cast<std::uint32_t>(choices_.next(4)))
        .at(area_.address + choices_.next(2048), key, static_cast<std::uint32_t>(choices_.next(20'000)))
        .atomic(area_.address + 8 * choices_.next(64), key, 1, 2)
        .carrying(bytes, 3);
  }

  void write_record() {
    Crafted p = packet();
    const std::uint64_t before = position_;
    nic::OutPacket out{.flow = p.flow, .headers = p.headers, .payload = {}};
    const bool exports = choices_.one_in(4);
    nic::Fragment piece{p.payload.data(), static_cast<std::uint32_t>(p.payload.size())};
    if (exports) {
      piece.data = choices_.one_in(8) ? std::bit_cast<const std::byte*>(choices_.next(1ULL << 47)) : kExported.data();
      piece.bytes =
          static_cast<std::uint32_t>(choices_.one_in(8) ? choices_.next(1ULL << 32) : choices_.next(64 * 1024));
      out.one_copy = true;
    }
    if (piece.bytes > 0) out.payload = {&piece, 1};
    if (exports && piece.bytes == 0) return;
    out.payload_bytes = piece.bytes;
    out.headers.bth.pad = exports ? 0 : wire::pad_for(piece.bytes);
    out.packets =
        exports || choices_.one_in(2) ? static_cast<std::uint32_t>(choices_.next(choices_.one_in(8) ? 256 : 8)) : 1;
    if (choices_.one_in(16)) out.flow.source = {{0x20, 0x01}};  // a flow that cannot be
    if (!out_.write(out.flow, out)) return;
    position_ += out_.unpublished();
    if (!choices_.one_in(8)) out_.publish();
    newest_ = before % Ring::kBytes;
  }

  // ---- the lane

  // What the card wants sent goes the way of all packets.
  void send() {
    const nic::Sge from = area_.sge(choices_.next(4096), static_cast<std::uint32_t>(choices_.next(4096)));
    host::WorkRequest r{
        .id = 1, .kind = choices_.one_in(2) ? nic::WorkKind::write : nic::WorkKind::send, .sges = {&from, 1}};
    r.remote_address = 0x1000;
    r.remote_key = wire::Key(7);
    if (connection_.qp->post_send(r) != host::Error::none) return;
    port_.set_now(now_ += real::microseconds(3));
    carry_out(victim_.settle());
    (void)port_.blocked();
    if (by_udp_.has_room()) by_udp_.count_sent(choices_.next(5000));
    by_udp_.announce(now_);
    port_.revoke(area_.bytes.data(), area_.bytes.size());
  }

  void carry_out(const trust::Effects& effects) {
    require(!effects.guards_broken, "memory that nobody registered was written");
    for (const trust::Area* a : {&foreign_, &read_only_}) {
      for (const trust::Written& w : effects.written) {
        require(w.offset + w.bytes <= a->offset || w.offset >= a->offset + a->bytes.size(),
                "memory that this peer may not write was written");
      }
    }
    for (const Crafted& p : effects.sent) {
      const nic::Fragment piece{p.payload.data(), static_cast<std::uint32_t>(p.payload.size())};
      nic::OutPacket out{.flow = p.flow, .headers = p.headers, .payload = {}};
      if (piece.bytes > 0) out.payload = {&piece, 1};
      out.payload_bytes = piece.bytes;
      // To the hostile lane's number, so that it goes into its ring.
      out.headers.bth.destination = wire::Qpn(std::uint32_t{kHostileLane} << wire::kLaneShift | 5);
      port_.emit(out);
    }
    port_.flush();
  }

  void receive() {
    std::uint32_t records = 0;
    port_.set_now(now_ += real::microseconds(3));
    (void)port_.receive(
        true,
        [&](const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
          require(++records <= 512, "one look goes on and on");
          take(flow, datagram, how);
        },
        [&] { settle(); });
    settle();
  }

  void take(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how) {
    require(!wire::is_mixed(flow), "a flow between IPv4 and IPv6");
    if (flow == kHonestFlow && datagram.size() == 64 && !is_hostile(datagram)) {
      ++honest_;
      for (const std::byte b : datagram) require(b == std::byte{0x5A}, "other bytes than were written");
      return;
    }
    require(is_hostile(datagram), "a datagram that is not in the ring");
    require(datagram.size() <= kMaxDatagram, "a datagram that is too long");
    wire::Packet& p = batch_[batched_];
    p = {};
    p.flow = flow;
    if (read_arrival(datagram, how, icrc_, port_.exported_by(), exports_[batched_], p) != Refusal::none) return;
    check(p, datagram);
    if (++batched_ == kBatch) settle();
  }
  [[nodiscard]] bool is_hostile(std::span<const std::byte> datagram) const {
    return datagram.data() >= ring_ && datagram.data() + datagram.size() <= ring_ + Ring::kBytes;
  }
  static void check(const wire::Packet& p, std::span<const std::byte> datagram) {
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    require(info.known() && p.packets >= 1, "no packet");
    require(p.packets == 1 || wire::may_be_burst(p), "a burst of what cannot be joined");
    if (p.payload.is_exported()) return require(p.payload.size() <= kLongestOneCopy, "an export that is too long");
    const auto near = p.payload.near();
    require(near.empty() || (near.data() >= datagram.data() &&
                             near.data() + near.size() + wire::kIcrcBytes <= datagram.data() + datagram.size()),
            "a payload that is not in its datagram");
  }
  void settle() {
    const std::uint32_t n = std::exchange(batched_, 0);
    if (n > 0) carry_out(victim_.receive_packets(std::span(batch_).first(n)));
  }

  static constexpr std::uint64_t kToken = 0x0123'4567'89AB'CDEF;
  static constexpr std::array<std::byte, 64 * 1024> kExported{std::byte{7}};

  FuzzBytes& choices_;
  OneCopy one_copy_;
  trust::Victim victim_{7};
  trust::Area area_, foreign_, read_only_;
  trust::Connection connection_;
  BrokerClient line_{no_broker()};
  SharedStatus own_status_;
  Port port_{WireChoice::shm, line_};  // nothing leaves this process
  LocalPeer by_udp_ = peer_by_udp();
  RingWriter out_{hostile_memory().to_lane()};
  const std::byte* ring_ = nullptr;  // where the port reads
  std::uint64_t position_ = 0;
  std::size_t newest_ = 0;  // about where the newest record begins
  Time now_ = real::seconds(1);
  wire::FlowIcrc icrc_;
  std::array<wire::Packet, kBatch> batch_;
  std::array<RingExport, kBatch> exports_;
  std::uint32_t batched_ = 0, honest_ = 0;
};

}  // namespace
}  // namespace weft::real

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weft::fuzz::FuzzBytes choices(data, size);
  weft::real::hostile_memory().reset();
  weft::real::honest_memory().reset();
  weft::real::Scene scene(choices);
  for (int most = 64; most > 0 && !choices.over(); --most) scene.step();
  scene.finish();
  return 0;
}
