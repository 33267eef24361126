#include "world/real/lane/negotiation.h"

#include <algorithm>

#include "world/real/broker/messages.h"

namespace weft::real {

Negotiation::Peer Negotiation::peer_of(const Connection& c) {
  return {c.peer_address.bytes, wire::lane_number(c.peer)};
}

Negotiation::Outcome Negotiation::find(Time now, const Peer& peer) const {
  if (const auto it = entries_.find(peer); it != entries_.end()) {
    if (it->second.outcome != Outcome::unknown && now < it->second.until) return it->second.outcome;
    if (it->second.asking) return silent_.contains(peer.address) ? Outcome::roce : Outcome::waiting;
  }
  const auto silent = silent_.find(peer.address);
  return silent != silent_.end() && now - silent->second < kSilent ? Outcome::roce : Outcome::unknown;
}

bool Negotiation::is_asking(const Peer& peer) const {
  const auto it = entries_.find(peer);
  return it != entries_.end() && it->second.asking;
}

Negotiation::Facts Negotiation::facts_of(Time now, const Peer& peer) const {
  const auto it = entries_.find(peer);
  return it != entries_.end() && now < it->second.until ? it->second.facts : Facts{};
}

Negotiation::Settled Negotiation::learn(Time now, const Peer& peer, const wire::DialectVersions& versions,
                                        const Facts& facts) {
  make_room(now);
  const Settled settled = settle(peer, entries_[peer], wire::common_version(own_, versions), facts, now + kCertain);
  plan_next();
  return settled;
}

void Negotiation::broker_does_not_know(Time now, const Peer& peer) {
  const auto it = entries_.find(peer);
  if (it == entries_.end() || !it->second.asking) return;
  Entry& entry = it->second;
  if (entry.tries == kTries && entry.due == entry.gives_up_from) entry.due = now;
  entry.gives_up_from = 0;
  plan_next();
}

Negotiation::Outcome Negotiation::ask(Time now, const Connection& c, std::uint64_t transaction, Broker broker) {
  make_room(now);
  const Peer peer = peer_of(c);
  if (entries_.size() >= kMaxPeers && !entries_.contains(peer)) return Outcome::roce;  // more than anybody asks at once
  Entry& entry = entries_[peer];
  if (!entry.asking) {
    entry = {.asking = true, .asked = now, .due = now};
    if (broker == Broker::is_late) entry.gives_up_from = now + kBrokerWithin;
    entry.question = {.from = c.own_address, .to = c.peer_address};
    entry.question.mad = {.transaction = transaction,
                          .versions = own_,
                          .roles = own_roles_,
                          .calls = wire::kCallVersion,
                          .asker = c.own,
                          .about = c.peer};
    next_ = std::min(next_, now);
  }
  return silent_.contains(peer.address) ? Outcome::roce : Outcome::waiting;
}

Negotiation::Settled Negotiation::on_answer(Time now, const wire::Address& from, const wire::VendorMad& answer) {
  const Peer peer{from.bytes, wire::lane_number(answer.about)};
  const auto it = entries_.find(peer);
  if (it == entries_.end() || !it->second.asking || it->second.question.mad.transaction != answer.transaction)
    return {};
  if (answer.status != 0) {  // somebody is there, and no Weft
    fall_silent(now, peer);
    plan_next();
    return {.peer = peer, .outcome = Outcome::roce, .all_lanes = true};
  }
  const bool speaks = own_.lowest <= answer.chosen && answer.chosen <= own_.highest;
  const Settled settled = settle(peer, it->second, speaks ? answer.chosen : 0,
                                 {answer.roles, answer.connections, answer.calls}, it->second.asked + kCertain);
  plan_next();
  return settled;
}

Negotiation::Settled Negotiation::on_question(Time now, const wire::Address& from, const wire::VendorMad& question) {
  make_room(now);
  const Peer peer{from.bytes, wire::lane_number(question.asker)};
  const Settled settled = settle(peer, entries_[peer], wire::common_version(own_, question.versions),
                                 {question.roles, question.connections, question.calls}, now + kHearsay);
  plan_next();
  return settled;
}

Negotiation::Settled Negotiation::settle(const Peer& peer, Entry& entry, std::uint8_t version, const Facts& facts,
                                         Time until) {
  entry.outcome = version != 0 ? Outcome::srnic : Outcome::roce;
  entry.facts = facts;
  entry.until = until;
  entry.asking = false;
  silent_.erase(peer.address);
  return {.peer = peer,
          .outcome = entry.outcome,
          .roles = facts.roles,
          .connections = facts.connections,
          .calls = facts.calls};
}

// Nobody at this address has answered, or somebody who does not know the question: no lane number of this address needs
// to be asked now.
void Negotiation::fall_silent(Time now, const Peer& peer) {
  silent_[peer.address] = now;
  std::erase_if(entries_, [&](const auto& e) { return e.first.address == peer.address && e.second.asking; });
}

// What is forgotten is asked for again. Questions that wait for an answer stay, unless there is nothing else.
void Negotiation::make_room(Time now) {
  if (entries_.size() >= kMaxPeers) {
    std::erase_if(entries_, [&](const auto& e) { return !e.second.asking && e.second.until <= now; });
  }
  if (entries_.size() >= kMaxPeers) std::erase_if(entries_, [](const auto& e) { return !e.second.asking; });
  if (silent_.size() >= kMaxPeers) silent_.clear();
}

void Negotiation::plan_next() {
  next_ = kNever;
  for (const auto& [peer, entry] : entries_) {
    if (entry.asking) next_ = std::min(next_, entry.due);
  }
}

}  // namespace weft::real
