// Memory that a peer may not have (checklist 33, 36, 39, 41, 42): each WRITE, READ, atomic and invalidation that the
// gate refuses, on the byte where it begins to refuse.
#include <limits>

#include "expect.h"

namespace weft::trust {
namespace {

using nic::Rights;
using nic::Status;
using wire::Key;
using wire::NakCode;

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

struct TrustAccess : testing::Test {
  Victim victim;
  Area area = victim.allocate(1024);
  Connection bystander = victim.connect();

  // Receive, on a connection of its own: a WRITE and a READ of these bytes. Expect: refused for this reason, or carried
  // out; the gate's answer is the same for both.
  void touch(std::uint64_t address, Key key, std::uint32_t length, Refusal wanted, const ConnectOptions& options = {}) {
    SCOPED_TRACE(testing::Message() << length << " bytes at " << address << " key " << key.raw());
    for (const Opcode opcode : {Opcode::rc_write_only, Opcode::rc_read_request}) {
      SCOPED_TRACE(wire::info(opcode).name);
      Connection c = victim.connect(options);
      Crafted p = c.request(opcode).at(address, key, length);
      if (opcode == Opcode::rc_write_only) p = std::move(p).carrying(length, 77);
      const Effects got = victim.receive(p);
      if (wanted == Refusal::none) {
        EXPECT_TRUE(accepted(got, c));
        EXPECT_EQ(c.state(), nic::QpState::rts);
      } else {
        EXPECT_TRUE(broken(got, c, wanted, NakCode::remote_access));
      }
      victim.destroy(c);
    }
  }
  // The same for an atomic.
  void add(std::uint64_t address, Key key, Refusal wanted, NakCode code = NakCode::remote_access,
           const ConnectOptions& options = {}) {
    SCOPED_TRACE(testing::Message() << "atomic at " << address);
    for (const Opcode opcode : {Opcode::rc_fetch_add, Opcode::rc_compare_swap}) {
      Connection c = victim.connect(options);
      const Effects got = victim.receive(c.request(opcode).atomic(address, key, 1, 2));
      EXPECT_TRUE(wanted == Refusal::none ? accepted(got, c) : broken(got, c, wanted, code));
      victim.destroy(c);
    }
  }
  // Opens a window of this type for this connection.
  Key bind(Connection& c, int type, const Area& below, std::uint64_t from, std::uint64_t length, Rights rights) {
    const Key window = *victim.device().create_window(victim.domain(), type);
    const host::WorkRequest work{.id = 1,
                                 .kind = nic::WorkKind::bind_window,
                                 .binding = {window, below.key, below.address + from, length, rights, window}};
    const Effects got = victim.post(c, work);
    EXPECT_EQ(got.completions.at(0).status, Status::success);
    return window;
  }
};

// An on-demand region may have holes: touching one must not end the program.
TEST_F(TrustAccess, OnDemandMemoryThatIsNotThere) {
  const Area lazy = victim.allocate(1024, kAllRights | Rights::local_write | Rights::on_demand);
  touch(lazy.address, lazy.key, 256, Refusal::none);
  victim.world().readable = victim.world().writable = false;
  touch(lazy.address, lazy.key, 256, Refusal::page_fault);
  add(lazy.address, lazy.key, Refusal::page_fault);
  touch(area.address, area.key, 256, Refusal::none);
}

// ---- 33: arithmetic at the borders --------------------------------------------------------------------------------

TEST_F(TrustAccess, T33_BordersOfARegion) {
  const std::uint64_t a = area.address;
  touch(a, area.key, 256, Refusal::none);
  touch(a + 1024 - 256, area.key, 256, Refusal::none);
  touch(a + 1023, area.key, 1, Refusal::none);
  touch(a - 1, area.key, 1, Refusal::out_of_bounds);
  touch(a - 1, area.key, 256, Refusal::out_of_bounds);
  touch(a + 1024 - 255, area.key, 256, Refusal::out_of_bounds);
  touch(a + 1023, area.key, 2, Refusal::out_of_bounds);
  touch(a + 1024, area.key, 1, Refusal::out_of_bounds);
  touch(a + 1025, area.key, 1, Refusal::out_of_bounds);
  touch(0, area.key, 1, Refusal::out_of_bounds);
  touch(kTop, area.key, 1, Refusal::out_of_bounds);
  touch(kTop, area.key, 2, Refusal::out_of_bounds);  // ends at 1
  touch(kTop - 100, area.key, 256, Refusal::out_of_bounds);
  EXPECT_TRUE(works(victim, bystander, area));
}

TEST_F(TrustAccess, T33_LengthsThatWrap) {
  // Receive: READs whose end, in 64 bits, would lie inside the region again.
  const std::uint64_t length = 0x8000'0000;
  for (const std::uint64_t address : {area.address - length + 8, kTop - length + 1, kTop - 7}) {
    Connection c = victim.connect();
    const Effects got = victim.receive(c.request(Opcode::rc_read_request).at(address, area.key, 0x8000'0000U));
    EXPECT_TRUE(broken(got, c, Refusal::out_of_bounds, NakCode::remote_access));
    victim.destroy(c);
  }
}

TEST_F(TrustAccess, T33_RegionAtTheTopOfTheSpace) {
  const Area top = victim.allocate_at(kTop - 511, 512, kAllRights, victim.domain());
  touch(kTop - 511, top.key, 256, Refusal::none);
  touch(kTop - 255, top.key, 256, Refusal::none);  // the very last byte there is
  touch(kTop, top.key, 1, Refusal::none);
  touch(kTop, top.key, 2, Refusal::out_of_bounds);
  touch(kTop - 254, top.key, 256, Refusal::out_of_bounds);
  touch(0, top.key, 1, Refusal::out_of_bounds);
  touch(kTop - 512, top.key, 1, Refusal::out_of_bounds);
  // A message of several packets may end there as well.
  Connection c = victim.connect();
  for (const Crafted& p : c.next_write(top, 512, 3)) EXPECT_TRUE(accepted(victim.receive(p), c));
  EXPECT_EQ(std::vector(top.bytes.begin(), top.bytes.end()), pattern(512, 3));
  // And a region may not wrap round.
  std::byte some[8];
  EXPECT_FALSE(victim.device().register_region(victim.domain(), {some, 8, kTop - 6, kAllRights}).has_value());
}

TEST_F(TrustAccess, T33_ZeroBasedRegion) {
  const Area zero = victim.allocate_at(0x5000, 512, kAllRights | Rights::zero_based, victim.domain());
  touch(0, zero.key, 256, Refusal::none);
  touch(511, zero.key, 1, Refusal::none);
  touch(512, zero.key, 1, Refusal::out_of_bounds);
  touch(kTop, zero.key, 1, Refusal::out_of_bounds);
  touch(0x5000, zero.key, 1, Refusal::out_of_bounds);
}

TEST_F(TrustAccess, T33_BordersOfAWindow) {
  const Key plain = bind(bystander, 1, area, 100, 200, Rights::remote_write | Rights::remote_read);
  const std::uint64_t a = area.address + 100;
  touch(a, plain, 200, Refusal::none);
  touch(a + 199, plain, 1, Refusal::none);
  touch(a - 1, plain, 1, Refusal::out_of_bounds);
  touch(a + 199, plain, 2, Refusal::out_of_bounds);
  touch(a + 200, plain, 1, Refusal::out_of_bounds);
  const Key zero = bind(bystander, 1, area, 100, 200, Rights::remote_write | Rights::remote_read | Rights::zero_based);
  touch(0, zero, 200, Refusal::none);
  touch(199, zero, 2, Refusal::out_of_bounds);
  touch(kTop, zero, 1, Refusal::out_of_bounds);
  touch(a, zero, 1, Refusal::out_of_bounds);
}

TEST_F(TrustAccess, T33_WindowThatWouldReachOverItsRegion) {
  const auto refused = [&](std::uint64_t address, std::uint64_t length) {
    Connection c = victim.connect();
    const Key window = *victim.device().create_window(victim.domain(), 1);
    const Effects got = victim.post(c, {.id = 1,
                                        .kind = nic::WorkKind::bind_window,
                                        .binding = {window, area.key, address, length, Rights::remote_read, window}});
    EXPECT_TRUE(failed(got, c, Refusal::out_of_bounds, Status::window_bind)) << address << " + " << length;
    EXPECT_EQ(victim.device().destroy_window(window), host::Error::none);
    victim.destroy(c);
  };
  refused(area.address - 1, 10);
  refused(area.address, 1025);
  refused(area.address + 1023, 2);
  refused(area.address + 1024, 1);
  refused(area.address + 8, kTop);
  refused(kTop, 2);
  refused(0, kTop);
}

// ---- 36: atomics --------------------------------------------------------------------------------------------------

TEST_F(TrustAccess, T36_MisalignedAtomic) {
  for (std::uint64_t off = 1; off < 8; ++off) {
    add(area.address + off, area.key, Refusal::misaligned_atomic, NakCode::invalid_request);
  }
  // Aligned as the peer counts, but not where the memory really is.
  const Area shifted = victim.allocate_at(0x9000, 64, kAllRights, victim.domain(), 4);
  add(0x9000, shifted.key, Refusal::misaligned_atomic, NakCode::invalid_request);
  add(area.address + 8, area.key, Refusal::none);
}

TEST_F(TrustAccess, T36_AtomicAcrossTheEnd) {
  const Area odd = victim.allocate(20);
  add(odd.address + 8, odd.key, Refusal::none);
  add(odd.address + 16, odd.key, Refusal::out_of_bounds);
  add(odd.address + 24, odd.key, Refusal::out_of_bounds);
  add(odd.address - 8, odd.key, Refusal::out_of_bounds);
  add(kTop - 7, odd.key, Refusal::out_of_bounds);
}

TEST_F(TrustAccess, T36_AtomicWithoutPermission) {
  const Area no_atomics = victim.allocate(64, Rights::local_write | Rights::remote_write | Rights::remote_read);
  add(no_atomics.address, no_atomics.key, Refusal::key_no_permission);
  ConnectOptions forbidding;
  forbidding.attributes.rights = Rights::remote_write | Rights::remote_read;
  add(area.address, area.key, Refusal::operation_not_allowed, NakCode::invalid_request, forbidding);
  add(area.address, Key(area.key.raw() ^ 0x100), Refusal::key_unknown);
}

// ---- 39: SEND with invalidate -------------------------------------------------------------------------------------

struct TrustInvalidate : TrustAccess {
  Connection c = victim.connect();

  // Receive: a SEND that asks to invalidate this key. Expect: remote access error, and the receive says why.
  void refused(Key key) {
    SCOPED_TRACE(key.raw());
    c = victim.connect();
    const nic::Sge sge = area.sge(512);
    (void)victim.post_receive(c, sge, 5);
    const Effects got = victim.receive(c.request(Opcode::rc_send_only_invalidate).invalidating(key));
    EXPECT_TRUE(broken(got, c, Refusal::bad_invalidate, NakCode::remote_access));
    ASSERT_EQ(got.completions.size(), 1U);
    EXPECT_EQ(got.completions[0].id, 5U);
    EXPECT_EQ(got.completions[0].status, Status::remote_access);
    victim.destroy(c);
  }
};

TEST_F(TrustInvalidate, T39_InvalidateOfTheSendersOwnWindow) {
  const Key window = bind(c, 2, area, 0, 256, Rights::remote_write);
  (void)victim.post_receive(c, area.sge(512), 5);
  const Effects got = victim.receive(c.next_request(Opcode::rc_send_only_invalidate).invalidating(window));
  EXPECT_TRUE(accepted(got, c));
  ASSERT_EQ(got.completions.size(), 1U);
  EXPECT_TRUE(got.completions[0].has_invalidated);
  EXPECT_EQ(got.completions[0].immediate, window.raw());
  // It is closed now, to its owner too.
  const Effects late = victim.receive(c.request(Opcode::rc_write_only).at(area.address, window, 8).carrying(8));
  EXPECT_TRUE(broken(late, c, Refusal::window_unbound, NakCode::remote_access));
}

TEST_F(TrustInvalidate, T39_InvalidateOfWhatIsNotTheSendersToInvalidate) {
  const Key others = bind(bystander, 2, area, 0, 256, Rights::remote_write);
  const Key type_1 = bind(bystander, 1, area, 0, 256, Rights::remote_write);
  const Key unbound = *victim.device().create_window(victim.domain(), 2);
  const Key foreign = *victim.device().create_window(victim.other_domain(), 2);
  refused(Key(0));
  refused(Key(0xDEAD'BEEF));       // nothing
  refused(area.key);               // a region
  refused(others);                 // another queue pair's
  refused(Key(others.raw() ^ 1));  // nearly
  refused(type_1);                 // only a bind can close these
  refused(unbound);                // invalid already
  refused(foreign);                // of another domain
  // Expect: all of it is as it was.
  for (const Key key : {others, type_1}) {
    const Crafted write = bystander.next_request(Opcode::rc_write_only).at(area.address, key, 8).carrying(8);
    EXPECT_TRUE(accepted(victim.receive(write), bystander));
  }
  EXPECT_TRUE(works(victim, bystander, area));
}

// ---- 41, 42: whose key, and what it permits -----------------------------------------------------------------------

TEST_F(TrustAccess, T41_KeysOfOthers) {
  const Area foreign = victim.allocate_at(0x4000, 512, kAllRights, victim.other_domain());
  touch(foreign.address, foreign.key, 8, Refusal::key_wrong_domain);
  ConnectOptions theirs;
  theirs.domain = victim.other_domain();
  touch(foreign.address, foreign.key, 8, Refusal::none, theirs);
  touch(area.address, area.key, 8, Refusal::key_wrong_domain, theirs);
  // A type 2 window is its queue pair's alone; a type 1 window its domain's.
  const Key others = bind(bystander, 2, area, 0, 256, Rights::remote_write | Rights::remote_read);
  touch(area.address, others, 8, Refusal::key_wrong_qp);
  const Key shared = bind(bystander, 1, area, 0, 256, Rights::remote_write | Rights::remote_read);
  touch(area.address, shared, 8, Refusal::none);
  touch(area.address, shared, 8, Refusal::key_wrong_domain, theirs);
}

TEST_F(TrustAccess, T41_KeysThatWereGoodOnce) {
  const Area gone = victim.allocate(256);
  ASSERT_EQ(victim.device().deregister_region(gone.key), host::Error::none);
  touch(gone.address, gone.key, 8, Refusal::key_stale);
  touch(gone.address, Key(gone.key.raw() ^ 1), 8, Refusal::key_unknown);
  // A window bound again under another key.
  const Key window = bind(bystander, 1, area, 0, 256, Rights::remote_write | Rights::remote_read);
  const Key renewed(window.raw() ^ 0x55);
  const host::WorkRequest again{
      .id = 2,
      .kind = nic::WorkKind::bind_window,
      .binding = {window, area.key, area.address, 256, Rights::remote_write | Rights::remote_read, renewed}};
  ASSERT_EQ(victim.post(bystander, again).completions.at(0).status, Status::success);
  touch(area.address, window, 8, Refusal::key_stale);
  touch(area.address, renewed, 8, Refusal::none);
}

TEST_F(TrustAccess, T41_KeysThatNeverWere) {
  for (const Key key : {Key(0), Key(1), Key(0xFF), Key(0xFFFF'FFFF), Key(~area.key.raw())}) {
    touch(area.address, key, 8, Refusal::key_unknown);
  }
  for (unsigned bit = 0; bit < 32; ++bit) touch(area.address, Key(area.key.raw() ^ 1U << bit), 8, Refusal::key_unknown);
}

TEST_F(TrustAccess, T42_PermissionOfTheRegionMissing) {
  struct Case {
    Rights rights;
    bool writes, reads, adds;
  };
  for (const auto& [rights, writes, reads, adds] :
       {Case{Rights::none, false, false, false}, Case{Rights::local_write, false, false, false},
        Case{Rights::local_write | Rights::remote_write, true, false, false},
        Case{Rights::remote_read, false, true, false},
        Case{Rights::local_write | Rights::remote_atomic, false, false, true}}) {
    const Area a = victim.allocate(64, rights);
    SCOPED_TRACE(static_cast<int>(rights));
    for (const auto& [opcode, allowed] :
         {std::pair(Opcode::rc_write_only, writes), std::pair(Opcode::rc_read_request, reads),
          std::pair(Opcode::rc_fetch_add, adds)}) {
      Connection c = victim.connect();
      Crafted p = c.request(opcode).at(a.address, a.key, 8).atomic(a.address, a.key, 1);
      if (opcode == Opcode::rc_write_only) p = std::move(p).carrying(8, 7);
      const Effects got = victim.receive(p);
      EXPECT_TRUE(allowed ? accepted(got, c) : broken(got, c, Refusal::key_no_permission, NakCode::remote_access))
          << wire::info(opcode).name;
      victim.destroy(c);
    }
  }
}

TEST_F(TrustAccess, T42_PermissionOfTheQueuePairMissing) {
  // IBA 9.7.4.1.3: an operation that the queue pair does not offer is an invalid request, whatever the key.
  for (const auto& [opcode, right] :
       {std::pair(Opcode::rc_write_only, Rights::remote_write), std::pair(Opcode::rc_read_request, Rights::remote_read),
        std::pair(Opcode::rc_compare_swap, Rights::remote_atomic)}) {
    for (const Rights rights : {Rights::none, nic::kRemoteRights}) {
      ConnectOptions o;
      o.attributes.rights = static_cast<Rights>(static_cast<unsigned>(rights) & ~static_cast<unsigned>(right));
      Connection c = victim.connect(o);
      Crafted p = c.request(opcode).at(area.address, area.key, 8).atomic(area.address, area.key, 1);
      if (opcode == Opcode::rc_write_only) p = std::move(p).carrying(8);
      EXPECT_TRUE(broken(victim.receive(p), c, Refusal::operation_not_allowed, NakCode::invalid_request));
      victim.destroy(c);
    }
  }
  ConnectOptions o{.service = wire::Service::uc};
  o.attributes.rights = Rights::none;
  Connection uc = victim.connect(o);
  const Crafted write = uc.next_request(Opcode::uc_write_only).at(area.address, area.key, 8).carrying(8);
  const Effects got = victim.receive(write);
  EXPECT_TRUE(counted(got, Refusal::operation_not_allowed));
  EXPECT_TRUE(silent(got));
  EXPECT_EQ(uc.state(), nic::QpState::rts);
}

TEST_F(TrustAccess, T42_RegionThatAsksForMoreThanItMay) {
  // IBA 11.2.8.2: remote WRITEs and atomics need local write permission. What the window adds, the region must allow.
  std::byte some[64];
  for (const Rights rights : {Rights::remote_write, Rights::remote_atomic}) {
    EXPECT_FALSE(victim.device().register_region(victim.domain(), {some, 64, 0x100, rights}).has_value());
  }
  const auto cannot_bind = [&](const Area& below, Rights rights, Refusal why) {
    Connection c = victim.connect();
    const Key window = *victim.device().create_window(victim.domain(), 1);
    const Effects got = victim.post(c, {.id = 1,
                                        .kind = nic::WorkKind::bind_window,
                                        .binding = {window, below.key, below.address, 8, rights, window}});
    EXPECT_TRUE(failed(got, c, why, Status::window_bind));
    victim.destroy(c);
  };
  cannot_bind(victim.allocate(64, Rights::local_write | Rights::remote_write), Rights::remote_write,
              Refusal::key_no_permission);
  cannot_bind(victim.allocate(64, Rights::bind_window), Rights::remote_write, Refusal::key_no_permission);
  cannot_bind(victim.allocate_at(0x8000, 64, kAllRights, victim.other_domain()), Rights::remote_read,
              Refusal::key_wrong_domain);
}

TEST_F(TrustAccess, T42_WriteIntoMemoryThatGoesAwayHalfWay) {
  // Receive: the first packet of a WRITE; the region is deregistered; then the rest. Expect: not one byte more is
  // placed.
  Connection c = victim.connect();
  const Area doomed = victim.allocate(512);
  const auto message = c.next_write(doomed, 512, 3);
  EXPECT_TRUE(accepted(victim.receive(message[0]), c));
  ASSERT_EQ(victim.device().deregister_region(doomed.key), host::Error::none);
  c.next = message[1].headers.bth.psn;
  EXPECT_TRUE(broken(victim.receive(message[1]), c, Refusal::key_stale, NakCode::remote_access));
}

TEST_F(TrustAccess, T42_ReadOfMemoryThatGoesAwayHalfWay) {
  // Receive: a READ; the region is deregistered before all of it has been sent. Expect: NAK at the response that cannot
  // be given, after those that could.
  Connection c = victim.connect();
  const std::uint32_t burst = victim.device().config().card.burst_bytes;
  const Area doomed = victim.allocate(2 * burst);
  victim.hold(true);
  (void)victim.receive(c.request(Opcode::rc_read_request).at(doomed.address, doomed.key, 2 * burst));
  EXPECT_EQ(victim.take_turns(1).sent.size(), burst / c.mtu);
  ASSERT_EQ(victim.device().deregister_region(doomed.key), host::Error::none);
  victim.hold(false);
  const Effects got = victim.settle();
  c.next = c.next.plus(burst / c.mtu);
  EXPECT_TRUE(broken(got, c, Refusal::key_stale, NakCode::remote_access));
}

}  // namespace
}  // namespace weft::trust
