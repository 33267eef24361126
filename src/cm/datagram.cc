// Datagram services: SIDR_REQ asks for the queue pair behind a service id, SIDR_REP tells (IBA 12.11).
#include "cm/manager.h"

namespace weft::cm {

Answer Manager::ask_service(const ServiceCall& call, Time now, ManagerEffects& out, Id& id) {
  if (call.private_data.size() > kServiceRequestData) return Answer::too_long;
  Connection* c = make(State::service_asked, call.path);
  if (c == nullptr) return Answer::too_many;
  c->active = true;
  c->service_id = call.service_id;
  c->transaction = chance_.next();
  wire::CmSidrReq req{.request_id = c->id, .service_id = call.service_id};
  call.addresses.encode(std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
  fill(req.private_data, call.private_data, wire::IpCmHeader::kBytes);
  ask(*c, req, now, out);
  id = c->id;
  return Answer::ok;
}

Answer Manager::answer_service(Id id, const ServiceAnswer& answer, Time now, ManagerEffects& out) {
  Connection* c = mine(id);
  if (c == nullptr) return Answer::no_such_connection;
  if (c->state != State::service_received) return Answer::wrong_state;
  if (answer.private_data.size() > kServiceAnswerData) return Answer::too_long;
  wire::CmSidrRep rep{.request_id = c->peer_id,
                      .status = answer.status,
                      .qpn = answer.qpn,
                      .service_id = c->service_id,
                      .qkey = answer.qkey};
  fill(rep.private_data, answer.private_data);
  stop_waiting(*c);
  say(*c, rep, out);
  c->state = State::service_answered;
  set_deadline(*c, now + 4 * c->wait);
  return Answer::ok;
}

Refused Manager::on(const Arrival& arrival, const wire::CmSidrReq& req, ManagerEffects& out) {
  if (const auto found = services_.find(key(arrival.from, req.request_id)); found != services_.end()) {
    const Connection& before = connections_.at(found->second);
    if (before.state == State::service_answered) say_again(before, out);
    return Refused::repeated;
  }
  const auto addresses = wire::IpCmHeader::decode(std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
  Refused refused = Refused::none;
  ListenerId listener = 0;
  if (addresses.version != 0 || (addresses.ip_version != 4 && addresses.ip_version != 6)) {
    refused = Refused::bad_ip_header;
  } else if (listener = listener_for(ServiceKind::datagram, req.service_id, arrival.to, addresses.destination);
             listener == 0) {
    refused = Refused::no_listener;
  }
  if (refused != Refused::none) {
    reply(arrival,
          wire::CmSidrRep{
              .request_id = req.request_id, .status = service_status::kUnsupported, .service_id = req.service_id},
          out);
    return refused;
  }
  Listener& chosen = listeners_.at(listener);
  if (chosen.waiting >= chosen.backlog) return Refused::backlog_full;
  Connection* c = make(State::service_received, Path{.local = arrival.to, .remote = arrival.from});
  if (c == nullptr) return Refused::too_many;
  c->peer_id = req.request_id;
  c->listener = listener;
  c->waiting = true;
  ++chosen.waiting;
  c->service_id = req.service_id;
  c->transaction = arrival.transaction;
  services_[key(arrival.from, req.request_id)] = c->id;
  CmEvent event{.what = Happening::service_request,
                .service_id = req.service_id,
                .addresses = addresses,
                .private_bytes = kServiceRequestData};
  fill(event.private_data, std::span(req.private_data).subspan(wire::IpCmHeader::kBytes));
  tell(*c, event, out);
  return Refused::none;
}

Refused Manager::on(const Arrival& arrival, const wire::CmSidrRep& rep, ManagerEffects& out) {
  Connection* c = nullptr;
  if (const Refused refused = theirs(arrival, rep.request_id, 0, c); refused != Refused::none) return refused;
  const bool other_service = rep.status == service_status::kSuccess && rep.service_id != c->service_id;
  if (c->state != State::service_asked || other_service) return Refused::unexpected;
  if (rep.status == service_status::kUnsupported && is_patient(*c, arrival.now)) return Refused::none;
  CmEvent event{.what = Happening::service_answer,
                .reason = rep.status,
                .peer = {.qpn = rep.qpn},
                .service_id = rep.service_id,
                .qkey = rep.qkey,
                .private_bytes = kServiceAnswerData};
  fill(event.private_data, rep.private_data);
  tell(*c, event, out);
  end(*c);
  return Refused::none;
}

}  // namespace weft::cm
