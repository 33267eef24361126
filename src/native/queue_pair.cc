#include "weft/queue_pair.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "native/bytecode.h"
#include "native/convert.h"
#include "native/inside.h"

namespace weft {

using native::refuse;

namespace native {

host::QpAttributes ours(const QpAttributes& a) {
  host::QpAttributes o;
  o.state = static_cast<nic::QpState>(a.state);
  o.current_state = static_cast<nic::QpState>(a.current_state);
  o.rights = ours(a.access);
  o.peer = ours(a.path.peer);
  o.gid_index = a.path.gid_index;
  o.traffic_class = a.path.traffic_class;
  o.hop_limit = a.path.hop_limit;
  o.udp_source_port = a.path.udp_source_port;
  o.mtu = a.mtu;
  o.peer_qpn = ours(a.peer_qpn);
  o.receive_psn = ours(a.receive_psn);
  o.send_psn = ours(a.send_psn);
  o.qkey = ours(a.qkey);
  o.pkey_index = a.pkey_index;
  o.port = a.port;
  o.ack_timeout = a.ack_timeout;
  o.retry_count = a.retry_count;
  o.rnr_retry = a.rnr_retry;
  o.min_rnr_timer = a.min_rnr_timer;
  o.max_reads = a.max_reads;
  o.max_peer_reads = a.max_peer_reads;
  o.drain_notify = a.drain_notify;
  return o;
}

QpAttributes theirs(const host::QpAttributes& a) {
  return {.state = static_cast<QpState>(a.state),
          .current_state = static_cast<QpState>(a.current_state),
          .access = theirs(a.rights),
          .path = {.peer = theirs(a.peer),
                   .gid_index = a.gid_index,
                   .traffic_class = a.traffic_class,
                   .hop_limit = a.hop_limit,
                   .udp_source_port = a.udp_source_port},
          .mtu = a.mtu,
          .peer_qpn = theirs(a.peer_qpn),
          .receive_psn = theirs(a.receive_psn),
          .send_psn = theirs(a.send_psn),
          .qkey = theirs(a.qkey),
          .pkey_index = a.pkey_index,
          .port = a.port,
          .ack_timeout = a.ack_timeout,
          .retry_count = a.retry_count,
          .rnr_retry = a.rnr_retry,
          .min_rnr_timer = a.min_rnr_timer,
          .max_reads = a.max_reads,
          .max_peer_reads = a.max_peer_reads,
          .drain_notify = a.drain_notify,
          .draining = a.draining};
}

}  // namespace native

Result<> QueuePair::destroy(native::DeviceState& device, host::QueuePair* qp) {
  return native::gone(device, device.device->destroy(qp));
}

// ---- work -----------------------------------------------------------------------------------------------------------

namespace {

Result<> post_local_call(host::QueuePair& qp, const WorkRequest& r, std::span<const nic::Fragment> pieces,
                         std::span<const nic::Sge> sges) {
  host::LocalRequest request{.id = r.id,
                             .opcode = r.remote.address,
                             .is_payload = r.verb == Verb::local_rpc_write,
                             .signaled = r.signaled,
                             .key = native::ours(r.remote.key)};
  std::array<nic::Fragment, nic::kMaxSges> parameters{};
  if (request.is_payload) {
    if (!pieces.empty()) return refuse(Error::invalid_argument);
    request.payload = sges;
  } else {
    // The head is a piece of its own, or the begin of the first one.
    if (pieces.empty() || pieces[0].bytes < sizeof request.answer) return refuse(Error::invalid_argument);
    std::memcpy(&request.answer, pieces[0].data, sizeof request.answer);
    if (request.answer.flags != 0) return refuse(Error::not_supported);
    std::copy(pieces.begin(), pieces.end(), parameters.begin());
    parameters[0].data += sizeof request.answer;
    parameters[0].bytes -= static_cast<std::uint32_t>(sizeof request.answer);
    request.parameters = std::span(parameters).first(pieces.size());
  }
  return native::result_of(qp.post_local_call(request));
}

}  // namespace

Result<> QueuePair::post(const WorkRequest& r) {
  if (device_ == nullptr) return refuse(Error::closed);
  native::Elements<nic::Sge> sges;
  native::Elements<nic::Fragment> pieces;
  const bool is_inline = !r.inline_data.empty();
  if (is_inline && !r.local.empty()) return refuse(Error::invalid_argument);  // which of the two?
  if (!sges.assign(r.local.list()) || !pieces.assign(r.inline_data.list())) return refuse(Error::invalid_argument);
  if (r.verb > Verb::local_rpc_write) return refuse(Error::invalid_argument);
  if (r.verb >= Verb::local_rpc) return post_local_call(*id_, r, pieces.span(), sges.span());
  const bool adds = r.verb == Verb::fetch_add;
  return native::result_of(id_->post_send({
      .id = r.id,
      .kind = static_cast<nic::WorkKind>(r.verb),
      .signaled = r.signaled,
      .solicited = r.solicited,
      .fence = r.fence,
      .sges = sges.span(),
      .inline_data = pieces.span(),
      .is_inline = is_inline,
      .immediate = r.immediate,
      .invalidate = native::ours(r.invalidate),
      .remote_address = r.remote.address,
      .remote_key = native::ours(r.remote.key),
      .compare_add = adds ? r.add : r.compare,
      .swap = r.swap,
      .to = {.destination = native::ours(r.to.path.destination),
             .udp_source_port = r.to.path.udp_source_port,
             .traffic_class = r.to.path.traffic_class,
             .gid_index = r.to.path.gid_index},
      .hop_limit = r.to.path.hop_limit,
      .remote_qpn = native::ours(r.to.qpn),
      .remote_qkey = native::ours(r.to.qkey),
      .binding = {.window = native::ours(r.bind.window),
                  .region = native::ours(r.bind.region),
                  .address = r.bind.address,
                  .length = r.bind.length,
                  .rights = native::ours(r.bind.access),
                  .new_key = native::ours(r.bind.new_key)},
  }));
}

Result<> QueuePair::post_receive(const ReceiveRequest& r) {
  if (device_ == nullptr) return refuse(Error::closed);
  native::Elements<nic::Sge> sges;
  if (!sges.assign(r.local.list())) return refuse(Error::invalid_argument);
  return native::result_of(id_->post_receive({.id = r.id, .sges = sges.span()}));
}

Result<weft_deployment_key> QueuePair::allow_deployment(const weft_deployment_rights& rights) {
  if (device_ == nullptr) return refuse(Error::closed);
  weft_deployment_key key{};
  const host::Error e = native::allow_deployment(*device_->device, *id_, rights, key);
  if (e != host::Error::none) return refuse(static_cast<Error>(e));
  return key;
}

Result<> QueuePair::forbid_deployment() {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(native::forbid_deployment(*device_->device, *id_));
}

// ---- state ----------------------------------------------------------------------------------------------------------

Result<> QueuePair::modify(const QpAttributes& attributes, QpMask mask) {
  if (device_ == nullptr) return refuse(Error::closed);
  return native::result_of(id_->modify(native::ours(attributes), static_cast<std::uint32_t>(mask)));
}

Result<> QueuePair::to_init(const InitAttributes& a) {
  if (device_ == nullptr) return refuse(Error::closed);
  const QpMask identity = service() == Service::ud ? QpMask::qkey : QpMask::access;
  return modify({.state = QpState::init, .access = a.access, .qkey = a.qkey},
                QpMask::state | QpMask::pkey_index | QpMask::port | identity);
}

Result<> QueuePair::to_ready_to_receive(const ReadyToReceiveAttributes& a) {
  if (device_ == nullptr) return refuse(Error::closed);
  QpMask mask = QpMask::state;
  if (service() != Service::ud) mask = mask | QpMask::path | QpMask::mtu | QpMask::peer_qpn | QpMask::receive_psn;
  if (service() == Service::rc) mask = mask | QpMask::max_peer_reads | QpMask::min_rnr_timer;
  return modify({.state = QpState::ready_to_receive,
                 .path = a.path,
                 .mtu = a.mtu,
                 .peer_qpn = a.peer_qpn,
                 .receive_psn = a.receive_psn,
                 .min_rnr_timer = a.min_rnr_timer,
                 .max_peer_reads = a.max_peer_reads},
                mask);
}

Result<> QueuePair::to_ready_to_send(const ReadyToSendAttributes& a) {
  if (device_ == nullptr) return refuse(Error::closed);
  QpMask mask = QpMask::state | QpMask::send_psn;
  if (service() == Service::rc) {
    mask = mask | QpMask::ack_timeout | QpMask::retry_count | QpMask::rnr_retry | QpMask::max_reads;
  }
  return modify({.state = QpState::ready_to_send,
                 .send_psn = a.send_psn,
                 .ack_timeout = a.ack_timeout,
                 .retry_count = a.retry_count,
                 .rnr_retry = a.rnr_retry,
                 .max_reads = a.max_reads},
                mask);
}

Result<> QueuePair::to_send_queue_drained(bool notify) {
  return modify({.state = QpState::send_queue_drained, .drain_notify = notify}, QpMask::state | QpMask::drain_notify);
}

Result<> QueuePair::back_to_ready_to_send() { return modify({.state = QpState::ready_to_send}, QpMask::state); }
Result<> QueuePair::to_error() { return modify({.state = QpState::error}, QpMask::state); }
Result<> QueuePair::to_reset() { return modify({.state = QpState::reset}, QpMask::state); }

Result<> QueuePair::connect(const Endpoint& peer, const ConnectOptions& o) {
  if (device_ == nullptr) return refuse(Error::closed);
  if (state() != QpState::reset) return refuse(Error::bad_state);
  const Path path{
      .peer = peer.address, .gid_index = o.gid_index, .traffic_class = o.traffic_class, .hop_limit = o.hop_limit};
  Result<> done = to_init({.access = o.access, .qkey = o.qkey});
  if (done) {
    done = to_ready_to_receive({.path = path,
                                .peer_qpn = peer.qpn,
                                .receive_psn = peer.psn,
                                .mtu = o.mtu,
                                .max_peer_reads = o.max_reads,
                                .min_rnr_timer = o.min_rnr_timer});
  }
  if (done) {
    done = to_ready_to_send({.send_psn = first_psn_,
                             .ack_timeout = o.ack_timeout,
                             .retry_count = o.retry_count,
                             .rnr_retry = o.rnr_retry,
                             .max_reads = o.max_reads});
  }
  if (!done) (void)to_reset();  // always possible
  return done;
}

Result<> connect(QueuePair& a, QueuePair& b, const ConnectOptions& options) {
  if (!a || !b) return refuse(Error::closed);
  if (a.service() != b.service()) return refuse(Error::invalid_argument);
  if (Result<> done = a.connect(b.endpoint(options.gid_index), options); !done) return done;
  Result<> done = b.connect(a.endpoint(options.gid_index), options);
  if (!done) (void)a.to_reset();
  return done;
}

// ---- what it is -----------------------------------------------------------------------------------------------------

QpState QueuePair::state() const { return static_cast<QpState>(id()->state()); }
QpAttributes QueuePair::query() const { return native::theirs(id()->query()); }
Reason QueuePair::broken_by() const { return Reason(static_cast<std::uint8_t>(id()->context().broken_by)); }
Qpn QueuePair::qpn() const { return native::theirs(id()->qpn()); }
Service QueuePair::service() const { return static_cast<Service>(id()->options().service); }

QueuePairLimits QueuePair::limits() const {
  const host::QpLimits& l = id()->options().limits;
  return {.send_entries = l.send_entries,
          .receive_entries = l.receive_entries,
          .send_sges = l.send_sges,
          .receive_sges = l.receive_sges,
          .inline_bytes = l.inline_bytes};
}

Endpoint QueuePair::endpoint(std::uint8_t gid_index) const {
  const auto& gids = device().device->config().gids;
  if (gid_index >= gids.size()) detail::misuse("an endpoint was asked for at an address that the device does not have");
  return {.address = native::theirs(gids[gid_index]), .qpn = qpn(), .psn = first_psn_};
}

}  // namespace weft
