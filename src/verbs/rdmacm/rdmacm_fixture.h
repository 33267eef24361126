// What tests of librdmacm have in common: a server and a client in this program, over a device that only remembers
// (fake_verbs.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "verbs/rdmacm/fake_verbs.h"

namespace weft::rdmacm {

inline sockaddr_in address(const char* text, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  inet_pton(AF_INET, text, &out.sin_addr);
  return out;
}
inline sockaddr* as_sockaddr(sockaddr_in& in) { return static_cast<sockaddr*>(static_cast<void*>(&in)); }

inline bool is_readable(int fd) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, 0) == 1;
}

inline std::string text_of(const rdma_conn_param& conn) {
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

}  // namespace weft::rdmacm
