// The messages that delay, refuse or end a connection: MRA, REJ, DREQ, DREP; and those about alternate paths.
#include "cm/manager.h"

namespace weft::cm {

Refused Manager::on(const Arrival& arrival, const wire::CmMra& mra, ManagerEffects&) {
  Connection* c = nullptr;
  if (const Refused refused = theirs(arrival, mra.remote_id, mra.local_id, c); refused != Refused::none) return refused;
  const bool request = mra.about == wire::CmAbout::req && c->state == State::request_sent;
  const bool response = mra.about == wire::CmAbout::rep && c->state == State::response_sent;
  if (!request && !response) return Refused::unexpected;
  if (request) c->peer_id = mra.local_id;
  // Who says so lives, and need not be given up for a user who thinks long. But 68 s at most: nobody is made to wait
  // for days by one datagram.
  c->retries_left = c->max_retries;
  const Time longer = ticks_of(std::min<std::uint8_t>(mra.service_timeout, 24)) + c->wait;
  set_deadline(*c, arrival.now + longer);
  return Refused::none;
}

Refused Manager::on(const Arrival& arrival, const wire::CmRej& rej, ManagerEffects& out) {
  Connection* c = nullptr;
  Id id = rej.remote_id;
  if (id == 0) {  // from who has never heard our id: it gave up its own request
    const auto found = requests_.find(key(arrival.from, rej.local_id));
    if (found != requests_.end()) id = found->second;
  }
  if (const Refused refused = theirs(arrival, id, rej.local_id, c); refused != Refused::none) return refused;
  CmEvent event{.what = Happening::rejected, .reason = rej.reason, .private_bytes = kRejectData};
  fill(event.private_data, rej.private_data);
  switch (c->state) {
    case State::request_sent:
      if (rej.reason == reason::kInvalidServiceId && is_patient(*c, arrival.now)) return Refused::none;
      [[fallthrough]];
    case State::request_received:
    case State::response_sent:
      tell(*c, event, out);
      end(*c);
      return Refused::none;
    case State::response_received:
    case State::established:
      tell(*c, event, out);
      enter_timewait(*c, arrival.now);
      return Refused::none;
    case State::disconnect_sent:  // it knows of no connection, which is what was wanted
      tell(*c, Happening::disconnected, 0, out);
      enter_timewait(*c, arrival.now);
      return Refused::none;
    default: return Refused::unexpected;
  }
}

Refused Manager::on(const Arrival& arrival, const wire::CmDreq& dreq, ManagerEffects& out) {
  Connection* c = nullptr;
  Refused refused = theirs(arrival, dreq.remote_id, dreq.local_id, c);
  if (refused == Refused::no_such_connection || (refused == Refused::none && c->state == State::over)) {
    // IBA 12.9.6: what is not connected can be called disconnected.
    reply(arrival, wire::CmDrep{.local_id = dreq.remote_id, .remote_id = dreq.local_id}, out);
    return Refused::no_such_connection;
  }
  if (refused != Refused::none) return refused;
  if (dreq.remote_qpn != c->qpn) return Refused::wrong_qpn;
  const bool again = c->state == State::timewait;
  const bool expected =
      again || c->state == State::established || c->state == State::response_sent || c->state == State::disconnect_sent;
  if (!expected) return Refused::unexpected;
  c->transaction = arrival.transaction;
  say(*c, wire::CmDrep{.local_id = c->id, .remote_id = c->peer_id}, out);
  if (again) return Refused::repeated;
  tell(*c, Happening::disconnected, 0, out);
  enter_timewait(*c, arrival.now);
  return Refused::none;
}

Refused Manager::on(const Arrival& arrival, const wire::CmDrep& drep, ManagerEffects& out) {
  Connection* c = nullptr;
  if (const Refused refused = theirs(arrival, drep.remote_id, drep.local_id, c); refused != Refused::none) {
    return refused;
  }
  if (c->state != State::disconnect_sent) return Refused::unexpected;
  tell(*c, Happening::disconnected, 0, out);
  enter_timewait(*c, arrival.now);
  return Refused::none;
}

Refused Manager::on(const Arrival& arrival, const wire::CmLap& lap, ManagerEffects& out) {
  Connection* c = nullptr;
  if (const Refused refused = theirs(arrival, lap.remote_id, lap.local_id, c); refused != Refused::none) return refused;
  if (c->state != State::established) return Refused::unexpected;
  reply(arrival, wire::CmApr{.local_id = c->id, .remote_id = c->peer_id, .status = kAlternatePathsUnsupported}, out);
  return Refused::alternate_path;
}

Refused Manager::on(const Arrival&, const wire::CmApr&, ManagerEffects&) {
  return Refused::unexpected;  // this side never sends a LAP
}

}  // namespace weft::cm
