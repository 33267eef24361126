// The messages that make a connection: REQ, REP, RTU.
#include "cm/manager.h"

namespace weft::cm {
namespace {

// A peer may ask for any patience from 4 us to hours; it gets 4 ms to 17 s.
std::uint8_t sensible_wait(std::uint8_t exponent) { return std::clamp<std::uint8_t>(exponent, 10, 22); }

wire::IpCmHeader addresses_of(const wire::CmReq& req) {
  return wire::IpCmHeader::decode(std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
}

Path path_of(const wire::CmReq& req, const wire::Address& from, const wire::Address& to) {
  return {.local = to,
          .remote = from,
          .mtu = req.mtu,
          .ack_timeout = req.primary.ack_timeout,
          .traffic_class = req.primary.traffic_class,
          .hop_limit = req.primary.hop_limit,
          .flow_label = req.primary.flow_label};
}

// What one side will hold is what the other may have outstanding.
QpParameters side_of(const wire::CmReq& req) {
  return {.qpn = req.qpn,
          .starting_psn = req.starting_psn,
          .responder_resources = req.initiator_depth,
          .initiator_depth = req.responder_resources,
          .retry_count = req.retry_count,
          .rnr_retry_count = req.rnr_retry_count,
          .flow_control = req.flow_control,
          .srq = req.srq};
}

QpParameters side_of(const wire::CmRep& rep) {
  return {.qpn = rep.qpn,
          .starting_psn = rep.starting_psn,
          .responder_resources = rep.initiator_depth,
          .initiator_depth = rep.responder_resources,
          .rnr_retry_count = rep.rnr_retry_count,
          .flow_control = rep.flow_control,
          .srq = rep.srq};
}

bool program_can_have(wire::Qpn qpn) { return qpn != wire::kGsiQpn && qpn != wire::kMulticastQpn; }

}  // namespace

// --- REQ -------------------------------------------------------------------------------------------------------------

Refused Manager::on(const Arrival& arrival, const wire::CmReq& req, ManagerEffects& out) {
  if (const auto found = requests_.find(key(arrival.from, req.local_id)); found != requests_.end()) {
    return repeated_request(connections_.at(found->second), arrival, out);
  }
  std::uint16_t why = 0;
  Refused refused = judge(arrival, req, why);
  ListenerId listener = 0;
  if (refused == Refused::none) {
    listener = listener_for(ServiceKind::connection, req.service_id, arrival.to, addresses_of(req).destination);
    if (listener == 0) {
      refused = Refused::no_listener;
      why = reason::kInvalidServiceId;
    }
  }
  if (refused != Refused::none) {
    reply(arrival, wire::CmRej{.remote_id = req.local_id, .about = wire::CmAbout::req, .reason = why}, out);
    if (refused == Refused::stale) end_stale(arrival, req.qpn, out);
    return refused;
  }
  // No answer to these two: who asks again later may find a place.
  Listener& chosen = listeners_.at(listener);
  if (chosen.waiting >= chosen.backlog) return Refused::backlog_full;
  if (connections_.size() >= settings_.max_connections) return Refused::too_many;
  begin_request(arrival, req, listener, out);
  return Refused::none;
}

Refused Manager::judge(const Arrival& arrival, const wire::CmReq& req, std::uint16_t& why) const {
  if ((req.transport != wire::CmReq::kTransportRc && req.transport != wire::CmReq::kTransportUc) || req.rdc_exists) {
    why = reason::kInvalidTransport;
    return Refused::bad_transport;
  }
  if (!program_can_have(req.qpn)) {
    why = reason::kNoQp;
    return Refused::bad_qpn;
  }
  if (req.mtu < 1 || req.mtu > settings_.max_mtu) {
    why = reason::kInvalidMtu;
    return Refused::bad_mtu;
  }
  const wire::IpCmHeader addresses = addresses_of(req);
  if (addresses.version != 0 || (addresses.ip_version != 4 && addresses.ip_version != 6)) {
    why = reason::kUnsupported;
    return Refused::bad_ip_header;
  }
  // IBA 12.9.8.3.1: a queue pair has one connection. The old one is over as far as its owner is concerned.
  if (peers_.contains(key(arrival.from, req.qpn.raw()))) {
    why = reason::kStale;
    return Refused::stale;
  }
  return Refused::none;
}

// If the old connection is really gone, its peer says so, and the user here learns it.
void Manager::end_stale(const Arrival& arrival, wire::Qpn peer_qpn, ManagerEffects& out) {
  Connection& c = connections_.at(peers_.at(key(arrival.from, peer_qpn.raw())));
  if (c.state == State::established) begin_disconnect(c, arrival.now, out);
}

Refused Manager::repeated_request(Connection& c, const Arrival& arrival, ManagerEffects& out) {
  switch (c.state) {
    case State::request_received: say_wait(c, wire::CmAbout::req, arrival.now, out); break;
    case State::response_sent:  // the REP
    case State::rejected:       // the REJ
      say_again(c, out);
      break;
    case State::timewait: reply(arrival, refusal(c, wire::CmAbout::req, reason::kStale), out); break;
    default: break;  // it has its answer: late, not lost
  }
  return Refused::repeated;
}

void Manager::begin_request(const Arrival& arrival, const wire::CmReq& req, ListenerId listener, ManagerEffects& out) {
  Connection* c = make(State::request_received, path_of(req, arrival.from, arrival.to));
  if (c == nullptr) return;
  c->peer_id = req.local_id;
  c->began = arrival.now;
  c->listener = listener;
  c->waiting = true;
  ++listeners_.at(listener).waiting;
  c->service_id = req.service_id;
  c->peer_guid = req.ca_guid;
  c->peer_qpn = req.qpn;
  c->transaction = arrival.transaction;
  c->max_retries = req.max_cm_retries;
  c->wait = ticks_of(sensible_wait(req.local_response_timeout));
  requests_[key(arrival.from, req.local_id)] = c->id;
  // Programs that bring their own queue pair up may say 0 here; nothing can be told from that.
  if (req.qpn.raw() != 0) peers_[key(arrival.from, req.qpn.raw())] = c->id;
  CmEvent event{.what = Happening::request,
                .peer = side_of(req),
                .unreliable = req.transport == wire::CmReq::kTransportUc,
                .service_id = req.service_id,
                .addresses = addresses_of(req),
                .private_bytes = kRequestData};
  fill(event.private_data, std::span(req.private_data).subspan(wire::IpCmHeader::kBytes));
  tell(*c, event, out);
}

// --- REP -------------------------------------------------------------------------------------------------------------

Refused Manager::on(const Arrival& arrival, const wire::CmRep& rep, ManagerEffects& out) {
  Connection* c = nullptr;
  if (const Refused refused = theirs(arrival, rep.remote_id, rep.local_id, c); refused != Refused::none) {
    // The other side hears of it, so that it need not wait until its own patience ends.
    const wire::CmRej rej{.local_id = rep.remote_id,
                          .remote_id = rep.local_id,
                          .about = wire::CmAbout::rep,
                          .reason = reason::kInvalidId};
    if (refused == Refused::no_such_connection) reply(arrival, rej, out);
    return refused;
  }
  if (c->state != State::request_sent) return repeated_response(*c, arrival, out);
  if (!program_can_have(rep.qpn)) {
    say_once(
        *c,
        wire::CmRej{.local_id = c->id, .remote_id = rep.local_id, .about = wire::CmAbout::rep, .reason = reason::kNoQp},
        out);
    return Refused::bad_qpn;
  }
  c->peer_id = rep.local_id;
  c->peer_guid = rep.ca_guid;
  c->peer_qpn = rep.qpn;
  c->state = State::response_received;
  c->began = arrival.now;
  set_deadline(*c, kNever);
  if (rep.qpn.raw() != 0) peers_.try_emplace(key(arrival.from, rep.qpn.raw()), c->id);
  CmEvent event{.what = Happening::response, .peer = side_of(rep), .private_bytes = kResponseData};
  fill(event.private_data, rep.private_data);
  tell(*c, event, out);
  return Refused::none;
}

Refused Manager::repeated_response(Connection& c, const Arrival& arrival, ManagerEffects& out) {
  if (!c.active) return Refused::unexpected;
  switch (c.state) {
    case State::response_received: say_wait(c, wire::CmAbout::rep, arrival.now, out); return Refused::repeated;
    case State::established:  // the RTU
    case State::rejected:     // the REJ
      say_again(c, out);
      return Refused::repeated;
    case State::over: say_once(c, refusal(c, wire::CmAbout::rep, reason::kTimeout), out); return Refused::unexpected;
    default: return Refused::unexpected;
  }
}

// --- RTU -------------------------------------------------------------------------------------------------------------

Refused Manager::on(const Arrival& arrival, const wire::CmRtu& rtu, ManagerEffects& out) {
  Connection* c = nullptr;
  if (const Refused refused = theirs(arrival, rtu.remote_id, rtu.local_id, c); refused != Refused::none) return refused;
  if (!c->active && c->state == State::established) return Refused::repeated;
  if (c->state != State::response_sent) return Refused::unexpected;
  c->state = State::established;
  set_deadline(*c, kNever);
  tell(*c, Happening::established, 0, out);
  return Refused::none;
}

}  // namespace weft::cm
