#include "world/real/broker/gsi_desk.h"

#include <type_traits>

#include "world/real/broker/messages.h"

namespace weft::real {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

wire::Flow back(const wire::Flow& flow) {
  return {.source = flow.destination, .destination = flow.source, .source_port = wire::kRocePort};
}

std::uint8_t lane_of_id(std::uint32_t id) { return static_cast<std::uint8_t>(id >> 24) & 0x7F; }

}  // namespace

GsiDatagram GsiDesk::reply_to(const wire::Flow& flow, std::uint64_t transaction, const wire::CmBody& body) {
  std::array<std::byte, wire::kMadBytes> mad{};
  wire::encode_cm({.transaction = transaction, .body = body}, mad);
  return {back(flow), build_gsi(back(flow), psn_++, mad)};
}

void GsiDesk::note(const wire::Flow& flow, const wire::CmMessage& m, std::uint8_t lane_number) {
  const auto link = [&](std::uint32_t our_id, std::uint32_t their_id, wire::Qpn qpn) {
    links_.put(flow.source, our_id, {our_id, their_id, qpn, back(flow)});
  };
  std::visit(Overloaded{
                 [&](const wire::CmReq& req) {
                   asked_.put(flow.source, req.local_id, {req.qpn, lane_number});
                 },
                 [&](const wire::CmRep& rep) { link(rep.remote_id, rep.local_id, rep.qpn); },
                 [&](const wire::CmRtu& rtu) {
                   const Asked* asked = asked_.find(flow.source, rtu.local_id);
                   if (asked == nullptr) return;
                   link(rtu.remote_id, rtu.local_id, asked->qpn);
                   asked_.erase(flow.source, rtu.local_id);
                 },
                 [&](const wire::CmRej& rej) { links_.erase(flow.source, rej.remote_id); },
                 [&](const wire::CmDreq& dreq) { links_.erase(flow.source, dreq.remote_id); },
                 [&](const wire::CmDrep& drep) { links_.erase(flow.source, drep.remote_id); },
                 [](const auto&) {},
             },
             m.body);
}

GsiDesk::Decision GsiDesk::judge(const wire::Flow& flow, std::string_view datagram, const Services& services,
                                 const Present& present) {
  std::span<const std::byte> mad;
  const auto bytes = std::as_bytes(std::span(datagram.data(), datagram.size()));
  if (parse_gsi(flow, bytes, mad) != Refusal::none) return {};
  if (wire::VendorMad v; wire::parse_vendor(mad, v) == Refusal::none) return judge_vendor(flow, v, present);
  // About a connection that runs: its lane knows.
  if (wire::MoveMad m; wire::parse_move(mad, m) == Refusal::none) return {wire::lane_number(m.about), {}};
  if (wire::CmMessage m; wire::parse_cm(mad, m) == Refusal::none) return judge_cm(flow, m, services, present);
  return {};
}

// An answer is for whoever asked. A question is answered here; the lane it is about hears it too, and need not ask. An
// offer is for the lane alone.
GsiDesk::Decision GsiDesk::judge_vendor(const wire::Flow& flow, const wire::VendorMad& m, const Present& present) {
  if (m.is_answer) return {lane_of_id(static_cast<std::uint32_t>(m.transaction >> 32)), {}};
  const std::uint8_t lane_number = wire::lane_number(m.about);
  if (m.roles.has(wire::StarRoles::kOffers)) return {lane_number, {}};
  std::array<std::byte, wire::kMadBytes> mad{};
  const Spoken spoken = present.spoken(flow.destination, lane_number);
  wire::encode_vendor(wire::answer_to(m, spoken.versions, spoken.roles, spoken.connections), mad);
  return {lane_number, GsiDatagram{back(flow), build_gsi(back(flow), psn_++, mad)}};
}

GsiDesk::Decision GsiDesk::judge_cm(const wire::Flow& flow, const wire::CmMessage& m, const Services& services,
                                    const Present& present) {
  Decision d = std::visit(
      Overloaded{
          [&](const wire::CmReq& req) -> Decision {
            // One that is sent again goes where the first one went, even if nobody listens there any more.
            const Asked* asked = asked_.find(flow.source, req.local_id);
            if (asked != nullptr && present.is_there(asked->lane_number)) return {asked->lane_number, {}};
            if (const std::uint8_t lane_number = services.listener(flow.destination, req.service_id); lane_number != 0)
              return {lane_number, {}};
            return {0, reply_to(flow, m.transaction,
                                wire::CmRej{.remote_id = req.local_id, .reason = wire::CmRej::kInvalidServiceId})};
          },
          [&](const wire::CmSidrReq& req) -> Decision {
            if (const std::uint8_t lane_number = services.listener(flow.destination, req.service_id); lane_number != 0)
              return {lane_number, {}};
            return {0,
                    reply_to(flow, m.transaction,
                             wire::CmSidrRep{.request_id = req.request_id, .status = 1, .service_id = req.service_id})};
          },
          [&](const wire::CmSidrRep& rep) -> Decision {
            return {lane_of_id(rep.request_id), {}};
          },
          [&](const wire::CmDreq& dreq) -> Decision {
            if (const std::uint8_t lane_number = lane_of_id(dreq.remote_id); present.is_there(lane_number))
              return {lane_number, {}};
            return {
                0, reply_to(flow, m.transaction, wire::CmDrep{.local_id = dreq.remote_id, .remote_id = dreq.local_id})};
          },
          [&](const auto& other) -> Decision {
            return {lane_of_id(other.remote_id), {}};
          },
      },
      m.body);
  if (d.lane_number != 0) note(flow, m, d.lane_number);
  return d;
}

std::vector<GsiDatagram> GsiDesk::last_words(std::uint8_t lane_number) {
  std::vector<GsiDatagram> out;
  links_.take_if([&](std::uint32_t our_id, const Link& link) {
    if (lane_of_id(our_id) != lane_number) return false;
    out.push_back(
        reply_to(back(link.back), link.our_id,
                 wire::CmDreq{.local_id = link.our_id, .remote_id = link.their_id, .remote_qpn = link.their_qpn}));
    return true;
  });
  return out;
}

}  // namespace weft::real
