#include "peer.h"

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace stress {

void start_broker_early() {
  const char* path = std::getenv("WEFT_BROKER");
  if (path == nullptr) return;
  std::string name = path;
  char* arguments[] = {name.data(), nullptr};
  pid_t child = -1;
  must(posix_spawn(&child, path, nullptr, nullptr, arguments, environ), "weft-broker");
  waitpid(child, nullptr, 0);
}

void Peer::start() {
  int pair[2];
  must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 ? 0 : errno, "socketpair");
  const int theirs = fcntl(pair[1], F_DUPFD, 100);  // without close-on-exec
  ::close(pair[1]);
  std::string number = std::to_string(theirs), name = program_, flag = "--serve";
  char* arguments[] = {name.data(), flag.data(), number.data(), nullptr};
  must(posix_spawn(&process_, program_, nullptr, nullptr, arguments, environ), "posix_spawn");
  ::close(theirs);
  socket_ = pair[0];
}

void Peer::end() {
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  ::close(socket_);
}

void Peer::kill_and_restart() {
  const std::lock_guard guard(lock_);
  end();
  ++deaths_;
  start();
}

std::optional<Address> Peer::connect(const Address& mine) {
  const std::lock_guard guard(lock_);
  Address theirs;
  if (send(socket_, &mine, sizeof mine, MSG_NOSIGNAL) != sizeof mine) return std::nullopt;
  if (recv(socket_, &theirs, sizeof theirs, 0) != sizeof theirs) return std::nullopt;
  return theirs;
}

namespace {

struct Connection {
  Owned<ibv_qp> qp;
  std::vector<std::byte> memory = std::vector<std::byte>(kEchoDepth * kEchoBytes);
  Owned<ibv_mr> mr;

  ~Connection() { qp.reset(); }  // before its memory

  ibv_sge slot(std::uint64_t i) const {
    return {.addr = reinterpret_cast<std::uint64_t>(memory.data()) + i * kEchoBytes,
            .length = kEchoBytes,
            .lkey = mr->lkey};
  }
  void receive(std::uint64_t i) {
    ibv_sge sge = slot(i);
    ibv_recv_wr wr{.wr_id = i, .next = nullptr, .sg_list = &sge, .num_sge = 1}, *bad = nullptr;
    must(ibv_post_recv(qp.get(), &wr, &bad), "ibv_post_recv");
  }
  void echo(std::uint64_t i, std::uint32_t bytes) {
    ibv_sge sge = slot(i);
    sge.length = bytes;
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = i;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    must(ibv_post_send(qp.get(), &wr, &bad), "ibv_post_send");
  }
};

class Server {
 public:
  Server() { must(ibv_query_gid(context_.get(), 1, 0, &gid_), "ibv_query_gid"); }
  void accept(int socket, const Address& theirs) {
    auto c = std::make_unique<Connection>();
    c->qp = make_qp(pd_.get(), cq_.get(), kEchoDepth);
    c->mr.reset(must(ibv_reg_mr(pd_.get(), c->memory.data(), c->memory.size(), kAccess), "ibv_reg_mr"));
    const Address mine{c->qp->qp_num, c->qp->qp_num, c->mr->rkey, reinterpret_cast<std::uint64_t>(c->memory.data()),
                       gid_};
    connect(c->qp.get(), mine.psn, theirs);
    for (std::uint64_t i = 0; i < kEchoDepth; ++i) c->receive(i);
    connections_[c->qp->qp_num] = std::move(c);
    (void)send(socket, &mine, sizeof mine, MSG_NOSIGNAL);
  }
  void poll() {
    ibv_wc wc[16];
    const int n = ibv_poll_cq(cq_.get(), 16, wc);
    for (int i = 0; i < n; ++i) {
      const auto it = connections_.find(wc[i].qp_num);
      if (it == connections_.end()) continue;
      if (wc[i].status != IBV_WC_SUCCESS) {
        connections_.erase(it);  // the other side has let go
      } else if (wc[i].opcode == IBV_WC_RECV) {
        it->second->echo(wc[i].wr_id, wc[i].byte_len);
      } else {
        it->second->receive(wc[i].wr_id);
      }
    }
  }

 private:
  Owned<ibv_context> context_ = open_device();
  Owned<ibv_pd> pd_{must(ibv_alloc_pd(context_.get()), "ibv_alloc_pd")};
  Owned<ibv_cq> cq_{must(ibv_create_cq(context_.get(), 1 << 16, nullptr, nullptr, 0), "ibv_create_cq")};
  ibv_gid gid_{};
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace

int serve(int socket) {
  Server server;
  for (;;) {
    pollfd p{socket, POLLIN, 0};
    if (::poll(&p, 1, 0) > 0) {
      Address theirs;
      if (recv(socket, &theirs, sizeof theirs, 0) != sizeof theirs) return 0;
      server.accept(socket, theirs);
    }
    for (int i = 0; i < 64; ++i) server.poll();
  }
}

}  // namespace stress
