// librdmacm as a program sees it, over a device that only remembers (fake_verbs.h). Both sides are in this program.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/rdmacm/fake_verbs.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint16_t kRep = 0x13, kReq = 0x10, kRtu = 0x14, kDreq = 0x15, kDrep = 0x16;

sockaddr_in address(const char* text, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  inet_pton(AF_INET, text, &out.sin_addr);
  return out;
}
sockaddr* as_sockaddr(sockaddr_in& in) { return static_cast<sockaddr*>(static_cast<void*>(&in)); }

bool is_readable(int fd) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, 0) == 1;
}

std::string text_of(const rdma_conn_param& conn) {
  return conn.private_data == nullptr ? "" : static_cast<const char*>(conn.private_data);
}

class Rdmacm : public testing::Test {
 protected:
  void SetUp() override {
    server_channel = rdma_create_event_channel();
    client_channel = rdma_create_event_channel();
    ASSERT_NE(server_channel, nullptr);
  }
  void TearDown() override {
    ack();
    for (rdma_cm_id* id : {client, child, listener}) {
      if (id == nullptr) continue;
      if (id->qp != nullptr) rdma_destroy_qp(id);
      EXPECT_EQ(rdma_destroy_id(id), 0);
    }
    rdma_destroy_event_channel(server_channel);
    rdma_destroy_event_channel(client_channel);
    EXPECT_EQ(fake::live_objects(), 0);
  }

  // The next event of a channel must be this one; it is acknowledged by the next call, or the end.
  rdma_cm_event* expect_event(rdma_event_channel* channel, rdma_cm_event_type type) {
    ack();
    EXPECT_EQ(rdma_get_cm_event(channel, &last), 0);
    EXPECT_STREQ(rdma_event_str(last->event), rdma_event_str(type));
    return last;
  }
  void ack() {
    if (last != nullptr) rdma_ack_cm_event(std::exchange(last, nullptr));
  }
  void listen(rdma_port_space ps = RDMA_PS_TCP, const char* at = "0.0.0.0") {
    ASSERT_EQ(rdma_create_id(server_channel, &listener, this, ps), 0);
    sockaddr_in where = address(at, 0);
    ASSERT_EQ(rdma_bind_addr(listener, as_sockaddr(where)), 0);
    ASSERT_EQ(rdma_listen(listener, 8), 0);
    ASSERT_NE(rdma_get_src_port(listener), 0);
  }
  void resolve(rdma_port_space ps = RDMA_PS_TCP, const char* to = "10.1.2.3") {
    ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, ps), 0);
    sockaddr_in where = address(to, ntohs(rdma_get_src_port(listener)));
    ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1000), 0);
    expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    ASSERT_EQ(rdma_resolve_route(client, 1000), 0);
    expect_event(client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    ack();
  }
  static void give_queue_pair(rdma_cm_id* id, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr attr{};
    attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
    attr.qp_type = type;
    ASSERT_EQ(rdma_create_qp(id, nullptr, &attr), 0);
  }
  void connect(const char* hello = "hello") {
    rdma_conn_param param{};
    param.private_data = hello;
    param.private_data_len = static_cast<std::uint8_t>(std::strlen(hello) + 1);
    param.responder_resources = 3;
    param.initiator_depth = 4;
    param.retry_count = 5;
    param.rnr_retry_count = 6;
    ASSERT_EQ(rdma_connect(client, &param), 0);
  }
  void take_request() {
    child = expect_event(server_channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id;
    EXPECT_EQ(last->listen_id, listener);
  }
  void accept() {
    rdma_conn_param param{};
    param.private_data = "welcome";
    param.private_data_len = 8;
    param.responder_resources = 2;
    param.initiator_depth = 1;
    param.rnr_retry_count = 7;
    ASSERT_EQ(rdma_accept(child, &param), 0);
  }
  void establish() {
    listen();
    resolve();
    give_queue_pair(client);
    connect();
    take_request();
    give_queue_pair(child);
    accept();
    expect_event(client_channel, RDMA_CM_EVENT_ESTABLISHED);
    expect_event(server_channel, RDMA_CM_EVENT_ESTABLISHED);
    ack();
  }

  rdma_event_channel *server_channel = nullptr, *client_channel = nullptr;
  rdma_cm_id *listener = nullptr, *client = nullptr, *child = nullptr;
  rdma_cm_event* last = nullptr;
};

// --- identifiers and addresses ---------------------------------------------------------------------------------------

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

// --- connections -----------------------------------------------------------------------------------------------------

TEST_F(Rdmacm, QueuePairsAgree) {
  establish();
  const auto& c = fake::behind(client->qp);
  const auto& s = fake::behind(child->qp);
  EXPECT_EQ(c.attributes.dest_qp_num, child->qp->qp_num);
  EXPECT_EQ(s.attributes.dest_qp_num, client->qp->qp_num);
  EXPECT_EQ(c.attributes.sq_psn, s.attributes.rq_psn);
  EXPECT_EQ(s.attributes.sq_psn, c.attributes.rq_psn);
  EXPECT_EQ(c.attributes.path_mtu, IBV_MTU_4096);
  EXPECT_EQ(s.attributes.path_mtu, IBV_MTU_4096);
  EXPECT_EQ(c.attributes.max_rd_atomic, 2);
  EXPECT_EQ(s.attributes.max_dest_rd_atomic, 2);
  EXPECT_EQ(c.attributes.max_dest_rd_atomic, 1);
  EXPECT_EQ(s.attributes.max_rd_atomic, 1);
  EXPECT_EQ(c.attributes.retry_cnt, 5);
  EXPECT_EQ(s.attributes.retry_cnt, 5);
  EXPECT_EQ(c.attributes.rnr_retry, 7);
  EXPECT_EQ(s.attributes.rnr_retry, 6);
  EXPECT_GE(c.attributes.timeout, 14);
  EXPECT_EQ(c.attributes.timeout, s.attributes.timeout);
  EXPECT_TRUE(c.attributes.ah_attr.is_global);
  EXPECT_NE(c.attributes.qp_access_flags & IBV_ACCESS_REMOTE_READ, 0u);
  const std::vector<ibv_qp_state> way = {IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
  EXPECT_EQ(c.history, way);
  EXPECT_EQ(s.history, way);
}

TEST_F(Rdmacm, PrivateDataArrives) {
  listen();
  resolve();
  give_queue_pair(client);
  connect("how are you");
  take_request();
  EXPECT_EQ(text_of(last->param.conn), "how are you");
  EXPECT_EQ(last->param.conn.private_data_len, 56);
  EXPECT_EQ(last->param.conn.responder_resources, 4);
  EXPECT_EQ(last->param.conn.initiator_depth, 3);
  EXPECT_EQ(last->param.conn.qp_num, client->qp->qp_num);
  EXPECT_EQ(child->context, this);
  EXPECT_NE(child->verbs, nullptr);
  EXPECT_EQ(rdma_get_dst_port(child), rdma_get_src_port(client));
  give_queue_pair(child);
  accept();
  expect_event(client_channel, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(text_of(last->param.conn), "welcome");
  EXPECT_EQ(last->param.conn.private_data_len, 196);
}

TEST_F(Rdmacm, DisconnectIsSeenByBoth) {
  establish();
  ASSERT_EQ(rdma_disconnect(client), 0);
  EXPECT_EQ(fake::behind(client->qp).history.back(), IBV_QPS_ERR);
  expect_event(client_channel, RDMA_CM_EVENT_DISCONNECTED);
  expect_event(server_channel, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(rdma_disconnect(child), 0);  // as programs answer; there is nothing left to say
  EXPECT_EQ(fake::behind(child->qp).history.back(), IBV_QPS_ERR);
  expect_event(client_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  expect_event(server_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  ack();
}

TEST_F(Rdmacm, ARejectedConnectionMayBeTriedAgain) {
  listen();
  resolve();
  give_queue_pair(client);
  connect();
  take_request();
  ASSERT_EQ(rdma_reject(child, "never", 6), 0);
  ack();
  ASSERT_EQ(rdma_destroy_id(std::exchange(child, nullptr)), 0);
  expect_event(client_channel, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(last->status, 28);
  EXPECT_EQ(text_of(last->param.conn), "never");
  EXPECT_EQ(last->param.conn.private_data_len, 148);
  EXPECT_EQ(fake::behind(client->qp).history.back(), IBV_QPS_ERR);
  ack();
  connect("again");
  take_request();
  EXPECT_EQ(text_of(last->param.conn), "again");
  ack();
}

TEST_F(Rdmacm, NobodyListens) {
  listen();
  resolve();
  ASSERT_EQ(rdma_destroy_id(std::exchange(listener, nullptr)), 0);
  give_queue_pair(client);
  connect();
  expect_event(client_channel, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(last->status, 8);
  ack();
}

TEST_F(Rdmacm, RequestsThatNobodyFetchedDieWithTheListener) {
  listen();
  resolve();
  give_queue_pair(client);
  connect();
  pollfd waiting{.fd = server_channel->fd, .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waiting, 1, 5'000), 1);
  ASSERT_EQ(rdma_destroy_id(std::exchange(listener, nullptr)), 0);
  EXPECT_FALSE(is_readable(server_channel->fd));
  expect_event(client_channel, RDMA_CM_EVENT_REJECTED);
  ack();
}

TEST_F(Rdmacm, DestroyOfALiveConnectionDisconnects) {
  establish();
  rdma_destroy_qp(client);
  ASSERT_EQ(rdma_destroy_id(std::exchange(client, nullptr)), 0);
  expect_event(server_channel, RDMA_CM_EVENT_DISCONNECTED);
  ack();
}

TEST_F(Rdmacm, EveryMessageMayBeLostOnce) {
  for (const std::uint16_t attribute : {kReq, kRep, kRtu, kDreq, kDrep}) fake::lose(attribute, 1);
  establish();
  ASSERT_EQ(rdma_disconnect(client), 0);
  expect_event(client_channel, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(last->status, 0);
  expect_event(server_channel, RDMA_CM_EVENT_DISCONNECTED);
  ack();
}

TEST_F(Rdmacm, FirstDataEstablishes) {
  fake::lose(kRtu, 1'000);
  listen();
  resolve();
  give_queue_pair(client);
  connect();
  take_request();
  give_queue_pair(child);
  accept();
  expect_event(client_channel, RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_EQ(rdma_notify(child, IBV_EVENT_COMM_EST), 0);
  expect_event(server_channel, RDMA_CM_EVENT_ESTABLISHED);
  ack();
  fake::lose(kRtu, 0);
}

TEST_F(Rdmacm, AProgramMayBringItsOwnQueuePair) {
  listen();
  resolve();
  rdma_conn_param param{};
  param.qp_num = 0x777;
  param.responder_resources = param.initiator_depth = 1;
  ASSERT_EQ(rdma_connect(client, &param), 0);
  take_request();
  EXPECT_EQ(last->param.conn.qp_num, 0x777u);
  param.qp_num = 0x888;
  ASSERT_EQ(rdma_accept(child, &param), 0);
  expect_event(client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
  EXPECT_EQ(last->param.conn.qp_num, 0x888u);
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = IBV_QPS_RTR;
  ASSERT_EQ(rdma_init_qp_attr(client, &attributes, &mask), 0);
  EXPECT_EQ(attributes.dest_qp_num, 0x888u);
  EXPECT_EQ(mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  ASSERT_EQ(rdma_establish(client), 0);
  expect_event(server_channel, RDMA_CM_EVENT_ESTABLISHED);
  ack();
}

TEST_F(Rdmacm, CallsOutOfPlaceAreRefused) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  rdma_conn_param param{};
  EXPECT_EQ(rdma_connect(client, &param), -1);
  EXPECT_EQ(rdma_accept(client, &param), -1);
  EXPECT_EQ(rdma_reject(client, nullptr, 0), -1);
  EXPECT_EQ(rdma_disconnect(client), -1);
  EXPECT_EQ(rdma_establish(client), -1);
  EXPECT_EQ(rdma_notify(client, IBV_EVENT_COMM_EST), -1);
  EXPECT_EQ(rdma_resolve_route(client, 1), -1);
  EXPECT_EQ(errno, EINVAL);
}

// --- datagrams -------------------------------------------------------------------------------------------------------

TEST_F(Rdmacm, DatagramServices) {
  listen(RDMA_PS_UDP);
  resolve(RDMA_PS_UDP);
  give_queue_pair(client, IBV_QPT_UD);
  EXPECT_EQ(fake::behind(client->qp).history.back(), IBV_QPS_RTS);
  rdma_conn_param param{};
  param.private_data = "who";
  param.private_data_len = 4;
  ASSERT_EQ(rdma_connect(client, &param), 0);
  take_request();
  EXPECT_EQ(last->param.ud.private_data_len, 180);
  EXPECT_STREQ(static_cast<const char*>(last->param.ud.private_data), "who");
  give_queue_pair(child, IBV_QPT_UD);
  ASSERT_EQ(rdma_accept(child, &param), 0);
  expect_event(client_channel, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(last->param.ud.qp_num, child->qp->qp_num);
  EXPECT_EQ(last->param.ud.qkey, static_cast<std::uint32_t>(RDMA_UDP_QKEY));
  EXPECT_EQ(fake::behind(child->qp).attributes.qkey, static_cast<std::uint32_t>(RDMA_UDP_QKEY));
  EXPECT_TRUE(last->param.ud.ah_attr.is_global);
  ack();
}

TEST_F(Rdmacm, DatagramServicesMaySayNo) {
  listen(RDMA_PS_UDP);
  resolve(RDMA_PS_UDP);
  give_queue_pair(client, IBV_QPT_UD);
  rdma_conn_param param{};
  ASSERT_EQ(rdma_connect(client, &param), 0);
  take_request();
  ASSERT_EQ(rdma_reject(child, nullptr, 0), 0);
  expect_event(client_channel, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_NE(last->status, 0);
  ack();
}

// --- channels --------------------------------------------------------------------------------------------------------

// rping's thread for events fetches the last one, and comes back for another when the channel is destroyed.
TEST_F(Rdmacm, AThreadThatComesBackToADestroyedChannelWaits) {
  rdma_event_channel* channel = rdma_create_event_channel();
  ASSERT_NE(channel, nullptr);
  const int fd = channel->fd;
  ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
  std::thread reader([&] {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(channel, &event), -1);
  });
  reader.join();
  rdma_destroy_event_channel(channel);
  EXPECT_NE(::fcntl(fd, F_GETFD), -1) << "there is still something to wait on";
  // Nobody else has read from this one: it goes at once.
  rdma_event_channel* other = rdma_create_event_channel();
  const int gone = other->fd;
  rdma_destroy_event_channel(other);
  EXPECT_EQ(::fcntl(gone, F_GETFD), -1);
}

TEST_F(Rdmacm, TheDescriptorIsReadableWhileThereIsAnEvent) {
  EXPECT_FALSE(is_readable(client_channel->fd));
  EXPECT_NE(::fcntl(client_channel->fd, F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(::fcntl(client_channel->fd, F_SETFL, ::fcntl(client_channel->fd, F_GETFL) | O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(client_channel, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  EXPECT_TRUE(is_readable(client_channel->fd));
  expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_FALSE(is_readable(client_channel->fd));
  ack();
}

TEST_F(Rdmacm, AThreadThatWaitsMayBeCancelled) {
  pthread_t waiting{};
  const auto wait = [](void* channel) -> void* {
    rdma_cm_event* event = nullptr;
    rdma_get_cm_event(static_cast<rdma_event_channel*>(channel), &event);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&waiting, nullptr, wait, client_channel), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(pthread_cancel(waiting), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiting, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

TEST_F(Rdmacm, AThreadThatWaitsOutlivesItsChannel) {
  rdma_event_channel* channel = rdma_create_event_channel();
  static std::atomic<bool> waits, returned;
  std::thread([channel] {
    rdma_cm_event* event = nullptr;
    waits = true;
    (void)rdma_get_cm_event(channel, &event);
    returned = true;
  }).detach();
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rdma_destroy_event_channel(channel);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(returned);
}

TEST_F(Rdmacm, DestroyWaitsForAcknowledgement) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  std::atomic<bool> destroyed = false;
  std::thread other([&] {
    rdma_destroy_id(std::exchange(client, nullptr));
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(destroyed);
  ack();
  other.join();
}

TEST_F(Rdmacm, MigrationTakesTheEventsAlong) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  ASSERT_EQ(rdma_migrate_id(client, server_channel), 0);
  EXPECT_FALSE(is_readable(client_channel->fd));
  expect_event(server_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  ack();
}

TEST_F(Rdmacm, EndpointsWithoutChannels) {
  rdma_addrinfo hints{}, *found = nullptr;
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_TCP;
  ASSERT_EQ(rdma_getaddrinfo("10.1.2.3", "7474", &hints, &found), 0);
  ibv_qp_init_attr attr{};
  attr.cap.max_send_wr = attr.cap.max_recv_wr = 2;
  rdma_cm_id* passive = nullptr;
  ASSERT_EQ(rdma_create_ep(&passive, found, nullptr, &attr), 0);
  rdma_freeaddrinfo(found);
  ASSERT_EQ(rdma_listen(passive, 0), 0);
  std::thread caller([] {
    rdma_addrinfo wanted{}, *to = nullptr;
    wanted.ai_port_space = RDMA_PS_TCP;
    ASSERT_EQ(rdma_getaddrinfo("10.1.2.3", "7474", &wanted, &to), 0);
    ibv_qp_init_attr own{};
    own.cap.max_send_wr = own.cap.max_recv_wr = 2;
    rdma_cm_id* active = nullptr;
    ASSERT_EQ(rdma_create_ep(&active, to, nullptr, &own), 0);
    rdma_freeaddrinfo(to);
    EXPECT_NE(active->send_cq, nullptr);
    EXPECT_EQ(rdma_connect(active, nullptr), 0);
    EXPECT_EQ(active->event->event, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(rdma_disconnect(active), 0);
    rdma_destroy_ep(active);
  });
  rdma_cm_id* accepted = nullptr;
  ASSERT_EQ(rdma_get_request(passive, &accepted), 0);
  EXPECT_NE(accepted->qp, nullptr);
  EXPECT_EQ(rdma_accept(accepted, nullptr), 0);
  caller.join();
  EXPECT_EQ(rdma_disconnect(accepted), 0);
  rdma_destroy_ep(accepted);
  rdma_destroy_ep(passive);
}

// --- the rest --------------------------------------------------------------------------------------------------------

TEST_F(Rdmacm, Options) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  std::uint8_t small = 20;
  int number = 1;
  EXPECT_EQ(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &small, sizeof small), 0);
  EXPECT_EQ(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &small, sizeof small), 0);
  EXPECT_EQ(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &number, sizeof number), 0);
  EXPECT_EQ(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &number, sizeof number), 0);
  EXPECT_EQ(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &number, sizeof number), -1);
  EXPECT_EQ(rdma_set_option(client, 7, 7, &number, sizeof number), -1);
  EXPECT_EQ(errno, ENOSYS);
}

TEST_F(Rdmacm, WhatIsNotOfferedSaysSo) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_UDP), 0);
  sockaddr_in group = address("239.1.1.1", 1);
  EXPECT_EQ(rdma_join_multicast(client, as_sockaddr(group), nullptr), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(rsocket(AF_INET, SOCK_STREAM, 0), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Rdmacm, TheChildOfAForkStartsAfresh) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets no child of a program with threads start a thread";
#endif
  listen();
  const pid_t child_process = ::fork();
  if (child_process == 0) {
    rdma_conn_param param{};
    const bool refused = rdma_listen(listener, 1) == -1 && rdma_accept(listener, &param) == -1;
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    const bool fresh = channel != nullptr && rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0;
    ::_exit(refused && fresh ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child_process, &status, 0), child_process);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weft::rdmacm
