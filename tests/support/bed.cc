#include "support/bed.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "support/moves.h"

namespace weft::test {
namespace {

using host::Error;
using host::QpMask;
using nic::QpState;

std::uint32_t number_in(const char* variable) {
  const char* wanted = std::getenv(variable);
  return wanted != nullptr ? static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10)) : 0;
}

sim::WorldSpec world_of(const BedSpec& spec) {
  sim::WorldSpec world{.seed = spec.seed, .link = spec.link};
  world.device.card = spec.card;
  world.device.card.star_trust |= number_in("WEFT_TEST_STAR_TRUST") != 0;  // stateless cards that want no capabilities
  world.device.mtu = spec.port_mtu;
  if (spec.dialect != nic::Dialect::star) world.device.dialect = spec.dialect;
  world.device.max_stateless = spec.stateless;
  return world;
}

void must(Error e) {
  assert(e == Error::none);
  (void)e;
}

// From RESET to RTS, with the attributes that each transition of the service wants.
void bring_up(Node& node, host::QueuePair& qp, const Node& peer, const host::QueuePair& peer_qp, const QpSpec& spec,
              const QpSpec& peer_spec) {
  const bool ud = spec.service == wire::Service::ud, rc = spec.service == wire::Service::rc;
  host::QpAttributes a;
  a.rights = spec.rights;
  a.qkey = spec.qkey;
  a.state = QpState::init;
  must(node.host.modify(qp, a,
                        QpMask::state | QpMask::pkey_index | QpMask::port | (ud ? QpMask::qkey : QpMask::rights)));

  a.state = QpState::rtr;
  a.peer = peer.host.address();
  a.peer_qpn = peer_qp.qpn();
  a.mtu = spec.mtu;
  a.service_level = spec.service_level;
  a.receive_psn = peer_spec.psn;
  a.max_peer_reads = spec.max_peer_reads;
  a.min_rnr_timer = spec.min_rnr_timer;
  const std::uint32_t connected = ud ? 0 : QpMask::path | QpMask::mtu | QpMask::peer_qpn | QpMask::receive_psn;
  must(node.host.modify(qp, a, QpMask::state | connected | (rc ? QpMask::max_peer_reads | QpMask::min_rnr_timer : 0U)));

  a.state = QpState::rts;
  a.send_psn = spec.psn;
  a.ack_timeout = spec.ack_timeout;
  a.retry_count = spec.retry_count;
  a.rnr_retry = spec.rnr_retry;
  a.max_reads = spec.max_reads;
  const std::uint32_t reliable = QpMask::ack_timeout | QpMask::retry_count | QpMask::rnr_retry | QpMask::max_reads;
  must(node.host.modify(qp, a, QpMask::state | QpMask::send_psn | (rc ? reliable : 0U)));
}

std::vector<nic::Sge> sges_of(const sim::Memory& arena, std::span<const Piece> pieces) {
  std::vector<nic::Sge> sges;
  sges.reserve(pieces.size());
  for (const Piece& piece : pieces) sges.push_back(arena.sge(piece.offset, piece.length));
  return sges;
}

}  // namespace

nic::Dialect usual_dialect() noexcept {
  const char* wanted = std::getenv("WEFT_TEST_DIALECT");
  if (wanted == nullptr) return nic::Dialect::roce;
  if (std::string_view(wanted).starts_with("star")) return nic::Dialect::star;
  return std::string_view(wanted) == "srnic" ? nic::Dialect::srnic : nic::Dialect::roce;
}

bool usual_first_is_stateless() noexcept {
  const char* wanted = std::getenv("WEFT_TEST_DIALECT");
  return wanted != nullptr && std::string_view(wanted) == "star_first";
}

bool usual_moves() noexcept { return number_in("WEFT_TEST_MOVES") != 0; }
std::uint32_t usual_burst_bytes() noexcept { return number_in("WEFT_TEST_BURSTS"); }
std::uint32_t usual_one_copy_bytes() noexcept { return number_in("WEFT_TEST_ONE_COPY"); }

std::uint32_t Step::length() const {
  std::uint32_t sum = 0;
  for (const Piece& piece : local) sum += piece.length;
  return sum;
}

Node::Node(sim::Host& on, const BedSpec& spec)
    : host(on),
      domain(*on.device().create_domain()),
      cq(*on.device().create_cq(spec.cq_entries)),
      arena(on.allocate(domain, spec.arena_bytes, kEveryRight)) {
  host.join_packets(spec.burst_bytes);
  host.export_payloads(spec.one_copy_bytes);
  host.give_turns_first(spec.turns_first);
  host.look_after(spec.look_after);
  fill(arena.bytes, arena_seed(spec.seed, on.index()));
}

std::uint64_t& Node::word(std::uint64_t offset) const {
  assert(offset % 8 == 0);
  return *static_cast<std::uint64_t*>(static_cast<void*>(&arena.bytes[offset]));
}

host::QueuePair& Node::create_qp(const QpSpec& spec) {
  const host::QpOptions options{.service = spec.service,
                                .signal_all = spec.signal_all,
                                .limits = spec.limits,
                                .send_cq = spec.send_cq != nullptr ? spec.send_cq : cq,
                                .receive_cq = spec.receive_cq != nullptr ? spec.receive_cq : cq,
                                .srq = spec.srq,
                                .serves_calls = spec.serves_calls,
                                .local_calls = spec.local_calls,
                                .may_call = spec.may_call,
                                .wants_to_call = spec.wants_to_call};
  return **device().create_qp(domain, options);
}

Error Endpoint::post(const Step& step) const {
  const std::vector<nic::Sge> sges = step.is_inline ? std::vector<nic::Sge>{} : sges_of(node_->arena, step.local);
  std::vector<nic::Fragment> fragments;
  if (step.is_inline) {
    for (const Piece& piece : step.local) fragments.push_back({node_->bytes(piece).data(), piece.length});
  }
  host::WorkRequest request{.id = step.id,
                            .kind = step.kind,
                            .signaled = step.signaled,
                            .solicited = step.solicited,
                            .fence = step.fence,
                            .sges = sges,
                            .inline_data = fragments,
                            .is_inline = step.is_inline,
                            .immediate = step.immediate,
                            .invalidate = step.invalidate};
  request.remote_address = peer_->arena.address + step.remote;
  if (nic::is_call(step.kind)) request.remote_address = step.opcode;
  request.remote_key = step.remote_key.raw() != 0 ? step.remote_key : peer_->arena.key;
  request.compare_add = step.compare_add;
  request.swap = step.swap;
  request.binding = step.binding;
  if (qp_->options().service == wire::Service::ud) {
    request.to.destination = peer_->host.address();
    request.remote_qpn = peer_qpn_;
    request.remote_qkey = context().qkey;
    request.service_level = step.service_level;
  }
  return node_->host.post(*qp_, request);
}

Error Endpoint::receive(std::uint64_t id, std::span<const Piece> pieces) const {
  const std::vector<nic::Sge> sges = sges_of(node_->arena, pieces);
  const host::ReceiveRequest request{.id = id, .sges = sges};
  if (qp_->options().srq != nullptr) return qp_->options().srq->post(request);
  return node_->host.post(*qp_, request);
}

Error Endpoint::go_to(QpState state) const {
  host::QpAttributes a;
  a.state = state;
  return node_->host.modify(*qp_, a, QpMask::state);
}

Connection connect(Node& a, host::QueuePair& qa, Node& b, host::QueuePair& qb, const QpSpec& spec_a,
                   const QpSpec& spec_b) {
  bring_up(a, qa, b, qb, spec_a, spec_b);
  bring_up(b, qb, a, qa, spec_b, spec_a);
  return {Endpoint(a, qa, b, qb.qpn()), Endpoint(b, qb, a, qa.qpn())};
}

Bed::Bed(const BedSpec& spec) : world_(world_of(spec)) {
  for (std::uint32_t i = 0; i < spec.hosts; ++i) {
    host::DeviceConfig device = world_.spec().device;
    if (spec.dialect == nic::Dialect::star) {
      device.role = (i == 0) == spec.first_is_stateless ? host::StarRole::stateless : host::StarRole::stateful;
    }
    nodes_.emplace_back(world_.add_host(device), spec);
  }
  if (spec.moves) moves_ = std::make_unique<Moves>(world_, nodes_, spec);
  if (spec.bottleneck == 0) {
    world_.connect();
    return;
  }
  sim::LinkSpec slow = spec.link;
  slow.bits_per_second = spec.bottleneck;
  slow.faults = {};
  const sim::SwitchIndex middle = world_.add_switch();
  for (sim::HostIndex host = 0; host < spec.hosts; ++host) {
    world_.add_uplink(host, {.is_host = false, .index = middle}, spec.link);
    world_.add_port(middle, {.is_host = true, .index = host}, slow);
  }
}

Bed::~Bed() = default;

bool Bed::move(const Endpoint& end, host::StarRole role) { return moves_->begin(end.node(), end.qp(), role); }

Connection Bed::connect(Node& a, const QpSpec& spec_a, Node& b, const QpSpec& spec_b) {
  host::QueuePair& qa = a.create_qp(spec_a);
  host::QueuePair& qb = b.create_qp(spec_b);
  return test::connect(a, qa, b, qb, spec_a, spec_b);
}

bool Bed::run(Time limit) { return world_.run_until_idle(limit) == sim::Stop::idle && world_.at_rest(); }

std::vector<nic::Completion> drain(host::CompletionQueue& cq) {
  std::vector<nic::Completion> all(cq.waiting());
  cq.poll(all);
  return all;
}

std::vector<nic::HostEvent> drain_events(const Node& node) {
  std::vector<nic::HostEvent> all;
  while (const auto event = node.device().next_async_event()) all.push_back(*event);
  return all;
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = world::mix64(seed += world::kGolden);
    std::memcpy(bytes.data() + at, &word, 8);
  }
  const std::uint64_t last = world::mix64(seed + world::kGolden);
  std::memcpy(bytes.data() + at, &last, bytes.size() - at);
}

bool same_memory(std::span<const std::byte> one, std::span<const std::byte> other) {
  return one.size() == other.size() && (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

}  // namespace weft::test
