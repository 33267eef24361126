// GET by TCP: the server's program looks the key up and answers.
#include <sys/epoll.h>

#include "common/tcp.h"
#include "getter.h"
#include "messages.h"

namespace kv {

using namespace examples;

namespace {

class ByTcp final : public Getter {
 public:
  ByTcp(const ServerPlace& server, std::size_t clients) : events_(epoll_create1(EPOLL_CLOEXEC)), clients_(clients) {
    for (std::size_t i = 0; i < clients; ++i) {
      clients_[i].socket = connect_to(server.address, server.port);
      epoll_event e{.events = EPOLLIN, .data = {.u64 = i}};
      if (epoll_ctl(events_.fd(), EPOLL_CTL_ADD, clients_[i].socket.fd(), &e) != 0) give_up("cannot wait for answers");
    }
  }

  void start(std::size_t client, std::uint64_t key) override {
    clients_[client].key = key;
    if (!clients_[client].socket.write_from(Question{.ask = Ask::get, .key = key})) give_up("the server has gone");
  }

  void poll(std::vector<Got>& got) override {
    epoll_event ready[64];
    const int n = epoll_wait(events_.fd(), ready, 64, 0);
    for (int i = 0; i < n; ++i) {
      const std::size_t client = ready[i].data.u64;
      Client& c = clients_[client];
      Answer a;
      if (!c.socket.read_into(a)) give_up("the server has gone");
      c.object.resize(a.bytes);
      if (!c.socket.read(c.object)) give_up("the server has gone");
      if (a.bytes == 0) {
        got.push_back({client, true, {}});
        continue;
      }
      const std::optional<Bytes> value = value_in(c.object, c.key);
      got.push_back({client, value.has_value(), value});
    }
  }

 private:
  struct Client {
    Socket socket;
    std::uint64_t key = 0;
    std::vector<std::byte> object;
  };
  Socket events_;
  std::vector<Client> clients_;
};

}  // namespace

std::unique_ptr<Getter> get_by_tcp(const ServerPlace& server, std::size_t clients) {
  return std::make_unique<ByTcp>(server, clients);
}

}  // namespace kv
