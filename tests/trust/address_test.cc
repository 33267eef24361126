// Packets for nobody, or from nobody we know (checklist 9-13, 15): counted under their name, dropped without a word.
#include <map>

#include "expect.h"

namespace weft::trust {
namespace {

using nic::QpState;
using wire::Address;
using wire::Service;

struct TrustAddress : testing::Test {
  Victim victim;
  Area area = victim.allocate(1024);
  Connection peer = victim.connect();

  Crafted write(const Connection& c) {
    return c.request(Opcode::rc_write_only).at(area.address, area.key, 64).carrying(64, 5);
  }
  Crafted datagram(const Connection& c) { return c.request(Opcode::ud_send_only).carrying(64); }
};

TEST_F(TrustAddress, T09_OpcodeOfAnotherService) {
  // Receive: every opcode there is, at a queue pair of every other service. A congestion notification has none.
  for (const Service service : {Service::rc, Service::uc, Service::ud}) {
    Connection c = victim.connect({.service = service});
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      const wire::OpcodeInfo& info = wire::info(static_cast<Opcode>(opcode));
      if (!info.known() || info.service == service || info.service == Service::cnp) continue;
      SCOPED_TRACE(info.name);
      EXPECT_TRUE(dropped(victim.receive(c.request(static_cast<Opcode>(opcode))), Refusal::wrong_service));
    }
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T10_ReservedQueuePairNumbers) {
  for (const std::uint32_t qpn : {0U, 1U, 0xFF'FFFFU}) {  // nobody; the connection manager's; multicast
    SCOPED_TRACE(qpn);
    EXPECT_TRUE(dropped(victim.receive(write(peer).to(wire::Qpn(qpn))), Refusal::reserved_qpn));
    EXPECT_TRUE(dropped(victim.receive(datagram(peer).to(wire::Qpn(qpn))), Refusal::reserved_qpn));
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T10_UnusedQueuePairNumbers) {
  // Receive: a WRITE for every number that differs from a live one in a single bit, most of them its own slot.
  for (unsigned bit = 0; bit < 24; ++bit) {
    SCOPED_TRACE(bit);
    EXPECT_TRUE(dropped(victim.receive(write(peer).to(wire::Qpn(peer.qpn().raw() ^ 1U << bit))), Refusal::no_such_qp));
  }
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T10_JustDestroyedQueuePair) {
  Connection gone = victim.connect();
  const Crafted late = write(gone);
  victim.destroy(gone);
  EXPECT_TRUE(dropped(victim.receive(late), Refusal::no_such_qp));
  // Whoever gets its slot next is somebody else.
  std::vector<Connection> heirs;
  for (int i = 0; i < 15; ++i) heirs.push_back(victim.connect());
  EXPECT_TRUE(dropped(victim.receive(late), Refusal::no_such_qp));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T11_WrongPartitionKey) {
  // Ours is 0xFFFF. IBA 10.9.3: the low 15 bits must agree, and be a partition at all.
  for (const std::uint16_t pkey : {0x0000, 0x8000, 0x0001, 0x8001, 0xFFFE, 0x7FFE, 0x1234}) {
    SCOPED_TRACE(pkey);
    Crafted p = write(peer);
    p.headers.bth.pkey = wire::Pkey(pkey);
    EXPECT_TRUE(dropped(victim.receive(p), Refusal::bad_pkey));
  }
  // A limited member may talk to a full one.
  Crafted limited = write(peer);
  limited.headers.bth.pkey = wire::Pkey(0x7FFF);
  EXPECT_TRUE(accepted(victim.receive(limited), peer));
  peer.next = peer.next.plus(1);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T11_WrongQueueKey) {
  Connection ud = victim.connect({.service = Service::ud});
  (void)victim.post_receive(ud, area.sge());
  for (unsigned bit = 0; bit < 32; ++bit) {
    const wire::Qkey wrong(ud.qkey.raw() ^ 1U << bit);
    EXPECT_TRUE(dropped(victim.receive(datagram(ud).qkey(wrong)), Refusal::bad_qkey));
  }
  // The receive entry is still there for who knows the key.
  EXPECT_EQ(victim.receive(datagram(ud)).completions.size(), 1U);
}

TEST_F(TrustAddress, T12_SourceIsNotThePeer) {
  for (const Service service : {Service::rc, Service::uc}) {
    Connection c = victim.connect({.service = service});
    const Opcode opcode = service == Service::rc ? Opcode::rc_write_only : Opcode::uc_write_only;
    const Crafted good = c.request(opcode).at(area.address, area.key, 64).carrying(64);
    for (std::size_t byte = 0; byte < 16; ++byte) {
      Crafted p = good;
      p.flow.source.bytes[byte] ^= 0x80;
      EXPECT_TRUE(dropped(victim.receive(p), Refusal::wrong_peer));
    }
    for (const Address& source : {Address{}, kOurAddress, kPeerSixAddress, Address::v4(255, 255, 255, 255)}) {
      Crafted p = good;
      p.flow.source = source;
      EXPECT_TRUE(dropped(victim.receive(p), Refusal::wrong_peer));
    }
  }
  // Acknowledgements of a stranger count as little.
  const nic::Sge sge = area.sge(0, 64);
  const Effects sent = victim.post(peer, {.id = 1, .kind = nic::WorkKind::write, .sges = {&sge, 1}});
  Crafted ack = peer.ack(sent.sent.at(0).headers.bth.psn);
  ack.flow.source = Address::v4(10, 0, 0, 3);
  EXPECT_TRUE(dropped(victim.receive(ack), Refusal::wrong_peer));
  ack.flow.source = kPeerAddress;
  EXPECT_EQ(victim.receive(ack).completions.size(), 1U);
}

TEST_F(TrustAddress, T12_SourcePortIsThePeersToChoose) {
  // The UDP source port only spreads flows over paths (annex A17.9.5.3): a change of it must not cost the connection.
  for (const std::uint16_t port : {0, 1, 4791, 0xC000, 0xFFFF}) {
    Crafted p = write(peer);
    p.flow.source_port = port;
    EXPECT_TRUE(accepted(victim.receive(p), peer));
    peer.next = peer.next.plus(1);
  }
}

TEST_F(TrustAddress, T13_DestinationIsNotOurs) {
  Connection ud = victim.connect({.service = Service::ud});
  (void)victim.post_receive(ud, area.sge());
  for (const Address& destination :
       {kPeerAddress, Address{}, Address::v4(10, 0, 0, 255), Address::v4(255, 255, 255, 255), Address::v4(224, 0, 0, 1),
        Address::v4(127, 0, 0, 1), kPeerSixAddress}) {
    Crafted p = write(peer), d = datagram(ud);
    p.flow.destination = d.flow.destination = destination;
    EXPECT_TRUE(dropped(victim.receive(p), Refusal::not_our_address));
    EXPECT_TRUE(dropped(victim.receive(d), Refusal::not_our_address));
  }
  // An address of ours that is not the connection's own; a datagram may come to any of them.
  Crafted p = write(peer), d = datagram(ud);
  p.flow.destination = d.flow.destination = kOurSecondAddress;
  EXPECT_TRUE(dropped(victim.receive(p), Refusal::not_our_address));
  EXPECT_EQ(victim.receive(d).completions.size(), 1U);
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T13_Ipv4MappedAddressInIpv6) {
  // Receive: an IPv6 frame from ::ffff:10.0.0.2 to ::ffff:10.0.0.1, which as 16 bytes are just our connection's
  // addresses. Expect: refused as a frame; a router between the two families must not be able to tunnel it in.
  Crafted six = write(peer);
  six.flow.source = kPeerSixAddress;
  six.flow.destination = kOurSixAddress;
  Bytes frame = frame_of(six);
  for (std::size_t i = 0; i < 16; ++i) {
    frame[kIpAt + 8 + i] = std::byte{kPeerAddress.bytes[i]};
    frame[kIpAt + 24 + i] = std::byte{kOurAddress.bytes[i]};
  }
  seal(frame);
  EXPECT_TRUE(dropped(victim.receive_frame(frame), Refusal::bad_ip_header));
  EXPECT_TRUE(works(victim, peer, area));
}

TEST_F(TrustAddress, T13_ConnectionBetweenTheTwoFamiliesIsRefused) {
  // No packet could be both IPv4 and IPv6: such a path is refused where it is asked for, by modify and by post.
  Connection c = victim.connect({.until = QpState::init, .greeted = false});
  host::QpAttributes a = ConnectOptions{}.attributes;
  a.state = QpState::rtr;
  const std::uint32_t mask = host::QpMask::state | host::kRcTransitions[1][2].required;
  for (const auto& [gid, address] : std::map<std::uint8_t, Address>{{0, kPeerSixAddress}, {2, kPeerAddress}}) {
    a.gid_index = gid;
    a.peer = address;
    EXPECT_EQ(c.qp->modify(a, mask), host::Error::invalid_argument);
  }
  EXPECT_EQ(c.state(), QpState::init);
  Connection ud = victim.connect({.service = Service::ud});
  host::WorkRequest send{.id = 1};
  send.to.destination = kPeerSixAddress;
  EXPECT_EQ(ud.qp->post_send(send), host::Error::invalid_argument);
  send.to.gid_index = 2;
  EXPECT_EQ(ud.qp->post_send(send), host::Error::none);
}

// ---- 15: states -------------------------------------------------------------------------------------------------

Opcode request_of(Service service) {
  return service == Service::rc   ? Opcode::rc_write_only
         : service == Service::uc ? Opcode::uc_write_only
                                  : Opcode::ud_send_only;
}

// A queue pair of this service in this state, which nobody has sent anything to.
Connection in_state(Victim& victim, Service service, QpState state) {
  if (state != QpState::sqe) return victim.connect({.service = service, .until = state, .greeted = false});
  Connection c = victim.connect({.service = service, .greeted = false});
  const nic::Sge nowhere{.address = 0, .length = 8, .key = wire::Key(0)};
  host::WorkRequest send{.id = 1, .sges = {&nowhere, 1}};
  send.to.destination = kPeerAddress;
  (void)victim.post(c, send);
  return c;
}

// Calls `test` for every state that a queue pair of the service can be in, each time with a card of its own.
template <class Test>
void in_every_state(Service service, Test&& test) {
  for (const QpState state :
       {QpState::reset, QpState::init, QpState::rtr, QpState::rts, QpState::sqd, QpState::sqe, QpState::error}) {
    if (service == Service::rc && state == QpState::sqe) continue;  // a reliable one goes to ERROR
    SCOPED_TRACE(testing::Message() << "service " << int(service) << " state " << int(state));
    Victim victim;
    Connection c = in_state(victim, service, state);
    ASSERT_EQ(c.state(), state);
    test(victim, c, state);
  }
}

TEST(TrustStates, T15_RequestInEveryState) {
  for (const Service service : {Service::rc, Service::uc, Service::ud}) {
    in_every_state(service, [&](Victim& victim, Connection& c, QpState state) {
      const Area area = victim.allocate(256);
      const bool hears =
          state == QpState::rtr || state == QpState::rts || state == QpState::sqd || state == QpState::sqe;
      if (hears && service == Service::ud) (void)victim.post_receive(c, area.sge());
      Crafted p = c.request(request_of(service)).carrying(64);
      if (service != Service::ud) p = std::move(p).at(area.address, area.key, 64);
      const Effects got = victim.receive(p);
      if (!hears) {
        EXPECT_TRUE(dropped(got, Refusal::qp_not_ready));
        return;
      }
      EXPECT_TRUE(accepted(got, c));
      EXPECT_FALSE(got.written.empty());
      // The first packet tells a program that has not moved to RTS yet, once.
      EXPECT_EQ(got.events.size(), state == QpState::rtr ? 1U : 0U);
      if (state != QpState::rtr) return;
      EXPECT_EQ(got.events.at(0).kind, nic::EventKind::communication_established);
      c.next = c.next.plus(1);
      EXPECT_TRUE(victim.receive(c.request(Opcode::cnp)).events.empty());
    });
  }
}

TEST(TrustStates, T15_ResponseInEveryState) {
  // Nothing has been asked, so wherever a response is heard it is a ghost.
  for (const Opcode opcode : {Opcode::rc_ack, Opcode::rc_read_response_only, Opcode::rc_atomic_ack}) {
    in_every_state(Service::rc, [&](Victim& victim, Connection& c, QpState state) {
      const bool hears = state == QpState::rts || state == QpState::sqd;
      if (hears) (void)victim.receive(c.request(Opcode::cnp));
      const Effects got = victim.receive(c.answer(opcode, ConnectOptions{}.attributes.send_psn));
      EXPECT_TRUE(dropped(got, hears ? Refusal::ack_ghost : Refusal::qp_not_ready));
    });
  }
}

TEST(TrustStates, T15_ForgottenConnectionIsNotRemembered) {
  // A queue pair that went back to RESET and INIT knows nothing of its former peer.
  Victim victim;
  const Area area = victim.allocate(256);
  Connection c = victim.connect();
  const Crafted late = c.request(Opcode::rc_write_only).at(area.address, area.key, 64).carrying(64);
  host::QpAttributes a;
  a.state = QpState::reset;
  (void)victim.modify(c, a, host::QpMask::state);
  EXPECT_TRUE(dropped(victim.receive(late), Refusal::qp_not_ready));
  a.state = QpState::init;
  (void)victim.modify(c, a, host::QpMask::state | host::kRcTransitions[0][1].required);
  EXPECT_TRUE(dropped(victim.receive(late), Refusal::qp_not_ready));
}

}  // namespace
}  // namespace weft::trust
