#include "server.h"

#include <cstdio>
#include <map>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/card.h"
#include "common/tcp.h"
#include "messages.h"
#include "table.h"

namespace kv {

using namespace examples;

namespace {

// A client program's connection, and the queue pairs that it has here: they go with it.
struct Client {
  Socket socket;
  std::vector<QueuePair> qps;
};

class Server {
 public:
  explicit Server(const ServerOptions& o)
      : may_deploy_(o.deploy),
        table_(o.keys, o.value_bytes),
        mr_(card_.register_memory(table_.memory())),
        value_(kMostValue) {
    weft_kernel get = shipped("get");
    get.instances = 4096;
    card_.deploy(get);
    std::vector<std::byte> value(o.value_bytes);
    for (std::uint64_t key = 1; key <= o.keys; ++key) {
      fill_value(key, value.data(), value.size());
      if (!table_.put(key, value)) give_up("the table has no room");
    }
  }

  // False: the client has gone.
  [[nodiscard]] bool answer(Client& client) {
    Question q;
    if (!client.socket.read_into(q) || q.magic != kMagic || q.bytes > kMostValue) return false;
    const std::span<std::byte> value = std::span(value_).first(q.bytes);
    if (!client.socket.read(value)) return false;
    Answer a{.is_done = 1};
    switch (q.ask) {
      case Ask::table: describe(a); break;
      case Ask::connect: connect(client, q, a); break;
      case Ask::put: a.is_done = table_.put(q.key, value) ? 1 : 0; break;
      case Ask::get: return answer_get(client, q.key);
      default: return false;
    }
    return client.socket.write_from(a);
  }

 private:
  void describe(Answer& a) {
    a.entries_at = table_.entries_at();
    a.entry_mask = table_.entry_mask();
    a.rkey = mr_->rkey;
    a.most_object = static_cast<std::uint32_t>(table_.most_object());
  }
  void connect(Client& client, const Question& q, Answer& a) {
    QueuePair qp = card_.make_queue_pair(q.by_calls != 0 ? Calls::serves : Calls::none);
    a.endpoint = card_.endpoint_of(qp);
    qp.connect(q.endpoint, a.endpoint);
    if (may_deploy_ && q.wants_to_deploy != 0) allow(qp, a);
    client.qps.push_back(std::move(qp));
  }
  // A kernel of this client's own, and an op-code that nobody else has. Whoever hears this connection hears the key: a
  // server that is not among friends sends it by TLS.
  void allow(const QueuePair& qp, Answer& a) {
    const weft_deployment_rights rights{.first_opcode = next_opcode_,
                                        .last_opcode = next_opcode_,
                                        .most_kernels = 1,
                                        .most_state_bytes = 4096,
                                        .most_steps = 1000,
                                        .most_instances = 4096};
    if (weftdv_allow_deployment(qp.get(), &rights, &a.key) == 0) a.opcode = next_opcode_++;
  }
  // In one piece, as clients wait for it.
  [[nodiscard]] bool answer_get(const Client& client, std::uint64_t key) {
    const Bytes object = table_.find(key);
    const Answer a{.is_done = 1, .bytes = static_cast<std::uint32_t>(object.size())};
    out_.resize(sizeof a + object.size());
    std::memcpy(out_.data(), &a, sizeof a);
    if (!object.empty()) std::memcpy(out_.data() + sizeof a, object.data(), object.size());
    return client.socket.write(out_);
  }

  static constexpr std::uint64_t kFirstOpcode = 1U << 16;

  bool may_deploy_;
  std::uint64_t next_opcode_ = kFirstOpcode;
  Card card_{64};
  Table table_;
  ibv_mr* mr_;
  std::vector<std::byte> value_, out_;
};

}  // namespace

void fill_value(std::uint64_t key, std::byte* value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) value[i] = static_cast<std::byte>(key * 31 + i * 7);
}

void serve(const ServerOptions& options) {
  Server server(options);
  const Socket listener = listen_at(options.address, options.port);
  const Socket events(epoll_create1(EPOLL_CLOEXEC));
  std::map<int, Client> clients;
  const auto watch = [&](int fd) {
    epoll_event e{.events = EPOLLIN, .data = {.fd = fd}};
    return epoll_ctl(events.fd(), EPOLL_CTL_ADD, fd, &e) == 0;
  };
  if (!watch(listener.fd())) give_up("cannot wait for clients");
  (void)watch(STDIN_FILENO);  // a file cannot be waited for: then it serves until it is killed
  std::printf("serving %zu keys at %s:%u\n", options.keys, options.address.c_str(), options.port);
  std::fflush(stdout);
  for (bool goes_on = true; goes_on;) {
    epoll_event ready[64];
    const int n = epoll_wait(events.fd(), ready, 64, -1);
    for (int i = 0; i < n; ++i) {
      const int fd = ready[i].data.fd;
      if (fd == STDIN_FILENO) {
        char ignored[64];
        goes_on = read(fd, ignored, sizeof ignored) > 0;
      } else if (fd == listener.fd()) {
        Socket socket = accept_at(listener);
        const int accepted = socket.fd();
        if (accepted >= 0 && watch(accepted)) clients[accepted].socket = std::move(socket);
      } else if (!server.answer(clients[fd])) {
        clients.erase(fd);
      }
    }
  }
}

}  // namespace kv
