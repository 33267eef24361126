// Where an identifier is and where it wants to go.
#include <cerrno>
#include <cstring>
#include <utility>

#include "verbs/rdmacm/rdmacm_fixture.h"

namespace weft::rdmacm {
namespace {

// An address of either family, by its text.
sockaddr_storage at(const char* text, std::uint16_t port = 1) {
  sockaddr_storage out{};
  if (std::strchr(text, ':') == nullptr) {
    const sockaddr_in in = address(text, port);
    std::memcpy(&out, &in, sizeof in);
    return out;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  inet_pton(AF_INET6, text, &in.sin6_addr);
  std::memcpy(&out, &in, sizeof in);
  return out;
}
sockaddr* plain(sockaddr_storage& in) { return static_cast<sockaddr*>(static_cast<void*>(&in)); }

TEST_F(Rdmacm, BindingToAnAddressGivesTheDevice) {
  ASSERT_EQ(rdma_create_id(server_channel, &listener, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 4242);
  ASSERT_EQ(rdma_bind_addr(listener, as_sockaddr(where)), 0);
  EXPECT_NE(listener->verbs, nullptr);
  EXPECT_NE(listener->pd, nullptr);
  EXPECT_EQ(listener->port_num, 1);
  EXPECT_EQ(rdma_get_src_port(listener), htons(4242));
  EXPECT_EQ(rdma_bind_addr(listener, as_sockaddr(where)), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Rdmacm, BindingToAllAddressesGivesNone) {
  listen();
  EXPECT_EQ(listener->verbs, nullptr);
}

TEST_F(Rdmacm, LoopbackIsTheFirstDevice) {
  listen(RDMA_PS_TCP, "127.0.0.1");
  EXPECT_NE(listener->verbs, nullptr);
  resolve(RDMA_PS_TCP, "127.0.0.1");
  EXPECT_EQ(client->route.addr.src_sin.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  EXPECT_EQ(std::memcmp(client->route.addr.addr.ibaddr.dgid.raw, fake::kAddress.bytes.data(), 16), 0);
  give_queue_pair(client);
  connect();
  take_request();
  EXPECT_EQ(child->route.addr.dst_sin.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

TEST_F(Rdmacm, AddressesOfOthersAreNoDevice) {
  ASSERT_EQ(rdma_create_id(server_channel, &listener, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.9.9.9", 4242);
  EXPECT_EQ(rdma_bind_addr(listener, as_sockaddr(where)), -1);
  EXPECT_EQ(errno, ENODEV);
}

TEST_F(Rdmacm, APortIsTakenOnce) {
  listen();
  sockaddr_in where = address("10.1.2.3", ntohs(rdma_get_src_port(listener)));
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  EXPECT_EQ(rdma_bind_addr(client, as_sockaddr(where)), -1);
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST_F(Rdmacm, TheRouteIsDescribed) {
  listen();
  resolve();
  ASSERT_EQ(client->route.num_paths, 1);
  const ibv_sa_path_rec& path = *client->route.path_rec;
  EXPECT_EQ(path.mtu, IBV_MTU_4096);
  EXPECT_EQ(path.pkey, 0xFFFF);
  EXPECT_EQ(std::memcmp(path.dgid.raw, fake::kAddress.bytes.data(), 16), 0);
  EXPECT_EQ(rdma_get_dst_port(client), rdma_get_src_port(listener));
}

// --- IPv4 and IPv6 ---------------------------------------------------------------------------------------------------

struct Way {
  const char *from, *to;
};

// Bug: they were taken for a way, and the first packet on it ended the program.
TEST_F(Rdmacm, IPv4AndIPv6DoNotMix) {
  for (const Way& way : {Way{"10.1.2.3", "2001:db8::9"}, Way{"2001:db8::3", "10.1.2.9"}, Way{"0.0.0.0", "2001:db8::9"},
                         Way{"::", "10.1.2.9"}, Way{"10.1.2.3", "::1"}, Way{"::ffff:10.1.2.3", "10.1.2.9"},
                         Way{"::ffff:10.1.2.3", "2001:db8::9"}, Way{"2001:db8::3", "::ffff:10.1.2.9"}}) {
    sockaddr_storage from = at(way.from, 0), to = at(way.to);
    for (const bool binds_first : {false, true}) {
      ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
      if (binds_first) {
        ASSERT_EQ(rdma_bind_addr(client, plain(from)), 0) << way.from;
      }
      EXPECT_EQ(rdma_resolve_addr(client, binds_first ? nullptr : plain(from), plain(to), 1), -1)
          << way.from << " to " << way.to;
      EXPECT_EQ(errno, EINVAL);
      EXPECT_FALSE(is_readable(client_channel->fd)) << "there is nothing more to say";
      ASSERT_EQ(rdma_destroy_id(std::exchange(client, nullptr)), 0);
    }
  }
}

TEST_F(Rdmacm, BothEndsOfAWayAreOfOneKind) {
  for (const Way& way : {Way{"10.1.2.3", "10.1.2.9"}, Way{"10.1.2.3", "127.0.0.1"}, Way{"0.0.0.0", "127.0.0.1"},
                         Way{"2001:db8::3", "2001:db8::9"}, Way{"2001:db8::3", "::1"}, Way{"::", "::1"},
                         Way{"::", "::ffff:10.1.2.9"}, Way{"::ffff:10.1.2.3", "::ffff:10.1.2.9"}}) {
    sockaddr_storage from = at(way.from, 0), to = at(way.to);
    ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
    ASSERT_EQ(rdma_resolve_addr(client, plain(from), plain(to), 1), 0) << way.from << " to " << way.to;
    expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    ack();
    wire::Address local, remote;
    std::memcpy(local.bytes.data(), client->route.addr.addr.ibaddr.sgid.raw, local.bytes.size());
    std::memcpy(remote.bytes.data(), client->route.addr.addr.ibaddr.dgid.raw, remote.bytes.size());
    EXPECT_EQ(local.is_v4(), remote.is_v4()) << way.from << " to " << way.to;
    ASSERT_EQ(rdma_destroy_id(std::exchange(client, nullptr)), 0);
  }
}

TEST_F(Rdmacm, NoWayLeadsFromAnIPv4CardByTheNameOfLoopback) {
  sockaddr_storage from = at("::1", 0), to = at("2001:db8::9");
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  ASSERT_EQ(rdma_resolve_addr(client, plain(from), plain(to), 1), 0);
  expect_event(client_channel, RDMA_CM_EVENT_ADDR_ERROR);
  EXPECT_EQ(last->status, -EHOSTUNREACH);
  ack();
}

}  // namespace
}  // namespace weft::rdmacm
