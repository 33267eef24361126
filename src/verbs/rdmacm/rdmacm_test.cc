// librdmacm as a program sees it, over a device that only remembers (fake_verbs.h). Both sides are in this program.
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/rdmacm/fake_verbs.h"
#include "verbs/rdmacm/rdmacm_fixture.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint16_t kRep = 0x13, kReq = 0x10, kRtu = 0x14, kDreq = 0x15, kDrep = 0x16;

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

// --- the rest --------------------------------------------------------------------------------------------------------

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
    const bool stays = rdma_migrate_id(id, server_channel) == -1 && errno == EIO;  // that is the parent's
    ::_exit(refused && fresh && stays ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child_process, &status, 0), child_process);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weft::rdmacm
