// Where an identifier is and where it wants to go.
#include <cerrno>
#include <cstring>

#include "verbs/rdmacm/rdmacm_fixture.h"

namespace weft::rdmacm {
namespace {

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

}  // namespace
}  // namespace weft::rdmacm
