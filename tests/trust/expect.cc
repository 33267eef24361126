#include "expect.h"

#include <algorithm>
#include <sstream>

namespace weft::trust {

using nic::EventKind;
using nic::QpState;
using testing::AssertionFailure;
using testing::AssertionSuccess;

namespace {
std::array<bool, static_cast<std::size_t>(Refusal::count_)> provoked{};
}

void note_provoked(Refusal refusal) { provoked[static_cast<std::size_t>(refusal)] = true; }
bool was_provoked(Refusal refusal) { return provoked[static_cast<std::size_t>(refusal)]; }

std::string text_of(const Effects& e) {
  std::ostringstream out;
  for (const auto& [refusal, count] : e.refusals) out << "\n  refused " << text(refusal).counter << " x" << count;
  for (std::size_t i = 0; i < e.sent.size() && i < 12; ++i) {
    const auto& h = e.sent[i].headers;
    out << "\n  sent " << wire::info(h.bth.opcode).name << " psn " << h.bth.psn.raw() << " bytes "
        << e.sent[i].payload.size();
    if (wire::info(h.bth.opcode).aeth) out << " syndrome " << int{h.aeth.syndrome} << " msn " << h.aeth.msn.raw();
  }
  if (e.sent.size() > 12) out << "\n  ... " << e.sent.size() << " packets in all";
  if (e.completions.size() > 12) out << "\n  " << e.completions.size() << " completions, of which these first:";
  for (const auto& c : std::span(e.completions).first(std::min<std::size_t>(e.completions.size(), 12))) {
    out << "\n  completed id " << c.id << " status " << static_cast<int>(c.status) << " bytes " << c.bytes << " reason "
        << text(c.reason).counter;
  }
  for (const auto& event : e.events) out << "\n  event " << static_cast<int>(event.kind) << " of " << event.number;
  for (const auto& qpn : e.touched) out << "\n  context of " << qpn.raw() << " changed";
  for (const auto& w : e.written) out << "\n  written " << w.bytes << " bytes at " << w.offset;
  if (e.guards_broken) out << "\n  UNREGISTERED MEMORY WAS WRITTEN";
  const std::string all = out.str();
  return all.empty() ? "nothing" : all;
}

AssertionResult counted(const Effects& got, Refusal why, std::uint64_t times) {
  note_provoked(why);
  const bool right = got.refusals.size() == 1 && got.refusals[0] == std::pair(why, times);
  if (right) return AssertionSuccess();
  return AssertionFailure() << "wanted " << text(why).counter << " x" << times << ", got: " << text_of(got);
}

AssertionResult silent(const Effects& e) {
  const bool quiet = e.sent.empty() && e.completions.empty() && e.events.empty() && e.written.empty();
  return quiet ? AssertionSuccess() : AssertionFailure() << "wanted silence, got: " << text_of(e);
}

AssertionResult nothing(const Effects& e) {
  const bool quiet = silent(e) && e.refusals.empty() && e.touched.empty();
  return quiet ? AssertionSuccess() : AssertionFailure() << "wanted nothing, got: " << text_of(e);
}

AssertionResult dropped(const Effects& got, Refusal why, std::uint64_t times) {
  if (AssertionResult r = counted(got, why, times); !r) return r;
  Effects rest = got;
  rest.refusals.clear();
  return nothing(rest) ? AssertionSuccess() : AssertionFailure() << "wanted a silent drop, got: " << text_of(got);
}

AssertionResult accepted(const Effects& got, const Connection& c) {
  const bool alone = std::all_of(got.touched.begin(), got.touched.end(), [&](wire::Qpn q) { return q == c.qpn(); });
  if (got.refusals.empty() && alone && !got.guards_broken) return AssertionSuccess();
  return AssertionFailure() << "wanted no refusal, got: " << text_of(got);
}

AssertionResult answered(const Effects& got, const Connection& c, wire::Syndrome syndrome, Psn psn) {
  const auto fails = [&](const char* what) {
    return AssertionFailure() << what << " (wanted syndrome " << int{syndrome.encode()} << " psn " << psn.raw()
                              << "): " << text_of(got);
  };
  if (got.sent.size() != 1) return fails("not one packet");
  const Crafted& p = got.sent[0];
  if (p.headers.bth.opcode != Opcode::rc_ack) return fails("not an acknowledgement");
  if (p.flow.destination != c.peer || p.flow.source != c.ours) return fails("not to the peer");
  if (p.headers.bth.destination != c.peer_qpn) return fails("not to the peer's queue pair");
  if (p.headers.aeth.syndrome != syndrome.encode()) return fails("another syndrome");
  return p.headers.bth.psn == psn ? AssertionSuccess() : fails("another PSN");
}

AssertionResult broken(const Effects& got, const Connection& c, Refusal why, wire::NakCode code) {
  if (AssertionResult r = counted(got, why, 1); !r) return r;
  if (AssertionResult r = answered(got, c, wire::Syndrome::nak(code), c.next); !r) return r;
  const auto fails = [&](const char* what) { return AssertionFailure() << what << text_of(got); };
  const bool access = code == wire::NakCode::remote_access;
  const EventKind kind = access ? EventKind::qp_access_error : EventKind::qp_request_error;
  if (got.events.size() != 1 || got.events[0].kind != kind || got.events[0].number != c.qpn().raw()) {
    return fails("not the one event");
  }
  if (c.state() != QpState::error) return fails("queue pair not in ERROR");
  if (c.qp->context().broken_by != why) return fails("queue pair cannot say why");
  if (!got.written.empty()) return fails("memory changed");
  if (got.touched.size() != 1 || got.touched[0] != c.qpn()) return fails("other queue pairs changed");
  return AssertionSuccess();
}

AssertionResult failed(const Effects& got, const Connection& c, Refusal why, nic::Status status, QpState state) {
  if (AssertionResult r = counted(got, why, 1); !r) return r;
  const auto fails = [&](const char* what) { return AssertionFailure() << what << text_of(got); };
  if (got.completions.empty()) return fails("no completion");
  if (got.completions[0].status != status || got.completions[0].reason != why) return fails("another status or reason");
  for (std::size_t i = 1; i < got.completions.size(); ++i) {
    if (got.completions[i].status != nic::Status::flushed) return fails("the rest was not flushed");
  }
  if (c.state() != state) return fails("queue pair in another state");
  if (!got.sent.empty()) return fails("something was sent");
  if (!got.written.empty()) return fails("memory changed");
  return AssertionSuccess();
}

AssertionResult works(Victim& victim, Connection& c, const Area& area) {
  const auto bytes = std::min<std::uint32_t>(64, static_cast<std::uint32_t>(area.bytes.size()));
  const Crafted write = c.next_request(Opcode::rc_write_only).at(area.address, area.key, bytes).carrying(bytes, 99);
  Effects got = victim.receive(write);
  if (AssertionResult r = accepted(got, c); !r) return r;
  if (AssertionResult r = answered(got, c, wire::Syndrome::ack(), write.headers.bth.psn); !r) return r;
  if (!std::equal(write.payload.begin(), write.payload.end(), area.bytes.begin())) {
    return AssertionFailure() << "the peer's WRITE was not placed";
  }
  const nic::Sge sge = area.sge(0, bytes);
  got = victim.post(c, {.id = 77, .kind = nic::WorkKind::write, .sges = {&sge, 1}, .remote_address = 0x1000});
  if (got.sent.size() != 1) return AssertionFailure() << "our WRITE was not sent: " << text_of(got);
  got = victim.receive(c.ack(got.sent[0].headers.bth.psn));
  const bool done =
      got.completions.size() == 1 && got.completions[0].id == 77 && got.completions[0].status == nic::Status::success;
  return done ? accepted(got, c) : AssertionFailure() << "our WRITE did not complete: " << text_of(got);
}

}  // namespace weft::trust
