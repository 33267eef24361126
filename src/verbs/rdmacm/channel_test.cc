// Channels: what waits in them, who waits for them, and identifiers that move from one to another.
#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/asleep.h"
#include "verbs/rdmacm/rdmacm_fixture.h"

namespace weft::rdmacm {
namespace {

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

// Bug: rping's thread for events came to a channel that was destroyed before it had begun, and found freed memory.
TEST_F(Rdmacm, AThreadThatComesLateToADestroyedChannelIsRefused) {
  rdma_event_channel* channel = rdma_create_event_channel();
  ASSERT_NE(channel, nullptr);
  rdma_destroy_event_channel(channel);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(channel, &event), -1);
  EXPECT_EQ(errno, EBADF);
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
  struct Waiter {
    rdma_event_channel* channel;
    KnownThread thread;
  };
  Waiter waiter{client_channel, {}};
  pthread_t waiting{};
  const auto wait = [](void* argument) -> void* {
    auto* self = static_cast<Waiter*>(argument);
    self->thread.says_its_number();
    rdma_cm_event* event = nullptr;
    rdma_get_cm_event(self->channel, &event);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&waiting, nullptr, wait, &waiter), 0);
  EXPECT_TRUE(waiter.thread.falls_asleep_in(SYS_read));
  ASSERT_EQ(pthread_cancel(waiting), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiting, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

TEST_F(Rdmacm, AThreadThatWaitsOutlivesItsChannel) {
  rdma_event_channel* channel = rdma_create_event_channel();
  static std::atomic<bool> returned;
  static KnownThread waiter;
  std::thread([channel] {
    waiter.says_its_number();
    rdma_cm_event* event = nullptr;
    (void)rdma_get_cm_event(channel, &event);
    returned = true;
  }).detach();
  ASSERT_TRUE(waiter.falls_asleep_in(SYS_read));
  rdma_destroy_event_channel(channel);
  EXPECT_TRUE(waiter.falls_asleep_in(SYS_read));
  EXPECT_FALSE(returned);
}

TEST_F(Rdmacm, DestroyWaitsForAcknowledgement) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  std::atomic<bool> destroyed = false;
  KnownThread destroyer;
  std::thread other([&] {
    destroyer.says_its_number();
    rdma_destroy_id(std::exchange(client, nullptr));
    destroyed = true;
  });
  EXPECT_TRUE(destroyer.falls_asleep_in(SYS_futex));
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

// Bug: the channel of its own that it leaves was destroyed with the agent's lock held, which destroying takes.
TEST_F(Rdmacm, AnIdentifierOfItsOwnMayMoveToAChannel) {
  ASSERT_EQ(rdma_create_id(nullptr, &client, nullptr, RDMA_PS_TCP), 0);
  const int own = client->channel->fd;
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  ASSERT_NE(client->event, nullptr) << "the call waited for its event";
  ASSERT_EQ(rdma_migrate_id(client, client_channel), 0);
  EXPECT_EQ(client->channel, client_channel);
  EXPECT_EQ(client->event, nullptr);
  EXPECT_EQ(::fcntl(own, F_GETFD), -1) << "nobody needs its own channel any more";
  // From here on calls do not wait.
  ASSERT_EQ(rdma_resolve_route(client, 1), 0);
  EXPECT_EQ(client->event, nullptr);
  expect_event(client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  ack();
}

// Bug: the child waited for ever on descriptors that it shares with its parent, and took from them what was the
// parent's.
TEST_F(Rdmacm, TheChildOfAForkLeavesTheParentsEventsAlone) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  ASSERT_TRUE(is_readable(client_channel->fd));
  const pid_t child_process = ::fork();
  if (child_process == 0) {
    ::alarm(20);
    const auto is_lost = [](int result) { return result == -1 && errno == EIO; };
    rdma_cm_event* event = nullptr;
    rdma_cm_id* id = nullptr;
    const bool with_an_event = is_lost(rdma_get_cm_event(client_channel, &event));
    const bool with_none = is_lost(rdma_get_cm_event(server_channel, &event));
    const bool no_more = is_lost(rdma_create_id(client_channel, &id, nullptr, RDMA_PS_TCP));
    rdma_destroy_event_channel(client_channel);
    ::_exit(with_an_event && with_none && no_more ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child_process, &status, 0), child_process);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_readable(client_channel->fd));
  expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  ack();
}

TEST_F(Rdmacm, AnIdentifierMayMoveToAChannelOfItsOwn) {
  ASSERT_EQ(rdma_create_id(client_channel, &client, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in where = address("10.1.2.3", 1);
  ASSERT_EQ(rdma_resolve_addr(client, nullptr, as_sockaddr(where), 1), 0);
  ASSERT_EQ(rdma_migrate_id(client, nullptr), 0);
  EXPECT_NE(client->channel, client_channel);
  EXPECT_FALSE(is_readable(client_channel->fd));
  EXPECT_TRUE(is_readable(client->channel->fd)) << "what it had not fetched came along";
  expect_event(client->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  ack();
  // From here on calls wait.
  ASSERT_EQ(rdma_resolve_route(client, 1), 0);
  ASSERT_NE(client->event, nullptr);
  EXPECT_EQ(client->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(rdma_migrate_id(client, nullptr), -1) << "it has one";
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace weft::rdmacm
