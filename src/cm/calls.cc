// What the user asks of the connection manager.
#include <cassert>

#include "cm/manager.h"

namespace weft::cm {
namespace {

// IBA 12.6.5. RoCE has no LIDs; Linux writes all ones when the packets are routed, and they always are in RoCEv2.
wire::CmPath primary_path(const Path& path) {
  return {.local_lid = 0xFFFF,
          .remote_lid = 0xFFFF,
          .local = path.local,
          .remote = path.remote,
          .flow_label = path.flow_label & 0xF'FFFF,
          .traffic_class = path.traffic_class,
          .hop_limit = path.hop_limit,
          .ack_timeout = path.ack_timeout};
}

}  // namespace

Answer Manager::connect(const ConnectCall& call, Time now, ManagerEffects& out, Id& id) {
  if (call.private_data.size() > kRequestData) return Answer::too_long;
  Connection* c = make(State::request_sent, call.path);
  if (c == nullptr) return Answer::too_many;
  c->active = true;
  c->service_id = call.service_id;
  c->qpn = call.side.qpn;
  c->transaction = chance_.next();
  wire::CmReq req{.local_id = c->id,
                  .service_id = call.service_id,
                  .ca_guid = settings_.guid,
                  .qpn = call.side.qpn,
                  .responder_resources = call.side.responder_resources,
                  .initiator_depth = call.side.initiator_depth,
                  .remote_response_timeout = settings_.response_timeout,
                  .transport = call.unreliable ? wire::CmReq::kTransportUc : wire::CmReq::kTransportRc,
                  .flow_control = call.side.flow_control,
                  .starting_psn = call.side.starting_psn,
                  .local_response_timeout = settings_.response_timeout,
                  .retry_count = std::min<std::uint8_t>(call.side.retry_count, 7),
                  .mtu = call.path.mtu,
                  .rnr_retry_count = std::min<std::uint8_t>(call.side.rnr_retry_count, 7),
                  .max_cm_retries = settings_.max_retries,
                  .srq = call.side.srq,
                  .primary = primary_path(call.path)};
  call.addresses.encode(std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
  fill(req.private_data, call.private_data, wire::IpCmHeader::kBytes);
  ask(*c, req, now, out);
  id = c->id;
  return Answer::ok;
}

Answer Manager::accept(Id id, const QpParameters& side, std::span<const std::byte> data, Time now,
                       ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return Answer::no_such_connection;
  if (c->state != State::request_received) return Answer::wrong_state;
  if (data.size() > kResponseData) return Answer::too_long;
  wire::CmRep rep{.local_id = c->id,
                  .remote_id = c->peer_id,
                  .qpn = side.qpn,
                  .starting_psn = side.starting_psn,
                  .responder_resources = side.responder_resources,
                  .initiator_depth = side.initiator_depth,
                  .flow_control = side.flow_control,
                  .rnr_retry_count = std::min<std::uint8_t>(side.rnr_retry_count, 7),
                  .srq = side.srq,
                  .ca_guid = settings_.guid};
  fill(rep.private_data, data);
  stop_waiting(*c);
  c->qpn = side.qpn;
  c->state = State::response_sent;
  ask(*c, rep, now, out);
  return Answer::ok;
}

Answer Manager::reject(Id id, std::uint16_t why, std::span<const std::byte> data, Time now, ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return Answer::no_such_connection;
  if (data.size() > kRejectData) return Answer::too_long;
  if (c->state != State::request_received && c->state != State::response_received) return Answer::wrong_state;
  const bool request = c->state == State::request_received;
  wire::CmRej rej = refusal(*c, request ? wire::CmAbout::req : wire::CmAbout::rep, why);
  fill(rej.private_data, data);
  stop_waiting(*c);
  forget_qpn(*c);  // who was refused may try again at once
  say(*c, rej, out);
  // Should the REJ be lost, the question comes again, and then this answer, without troubling the user.
  c->state = State::rejected;
  set_deadline(*c, now + 4 * c->wait);
  return Answer::ok;
}

Answer Manager::ready(Id id, ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return Answer::no_such_connection;
  if (c->state != State::response_received) return Answer::wrong_state;
  c->state = State::established;
  say(*c, wire::CmRtu{.local_id = c->id, .remote_id = c->peer_id}, out);
  return Answer::ok;
}

Answer Manager::established(Id id, ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return Answer::no_such_connection;
  if (c->state == State::established) return Answer::ok;
  if (c->state != State::response_sent) return Answer::wrong_state;
  c->state = State::established;
  set_deadline(*c, kNever);
  tell(*c, Happening::established, 0, out);
  return Answer::ok;
}

Answer Manager::disconnect(Id id, Time now, ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return Answer::no_such_connection;
  // Before the RTU the passive side may be connected already, for all it knows; only the active side decides that.
  if (c->state != State::established && c->state != State::response_sent) return Answer::wrong_state;
  begin_disconnect(*c, now, out);
  return Answer::ok;
}

void Manager::begin_disconnect(Connection& c, Time now, ManagerEffects& out) {
  c.state = State::disconnect_sent;
  c.transaction = chance_.next();
  ask(c, wire::CmDreq{.local_id = c.id, .remote_id = c.peer_id, .remote_qpn = c.peer_qpn}, now, out);
}

void Manager::release(Id id, Time now, ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return;
  switch (c->state) {
    case State::request_sent:
      if (c->peer_id != 0) say_once(*c, refusal(*c, wire::CmAbout::req, reason::kTimeout), out);
      break;
    case State::request_received:
    case State::response_received: static_cast<void>(reject(id, reason::kConsumer, {}, now, out)); break;
    case State::response_sent: say_once(*c, refusal(*c, wire::CmAbout::rep, reason::kConsumer), out); break;
    case State::established: static_cast<void>(disconnect(id, now, out)); break;
    case State::service_received:
      static_cast<void>(answer_service(id, {.status = service_status::kRejected, .private_data = {}}, now, out));
      break;
    case State::disconnect_sent:
    case State::timewait:
    case State::rejected:
    case State::service_asked:
    case State::service_answered:
    case State::over: break;
  }
  c->owned = false;
  // What must still be repeated or remembered lives on until its deadline; the rest is gone.
  const bool lives = c->state == State::disconnect_sent || c->state == State::timewait || c->state == State::rejected ||
                     c->state == State::service_answered;
  if (!lives) end(*c);
}

}  // namespace weft::cm
