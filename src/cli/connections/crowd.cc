#include "cli/connections/crowd.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "cli/connections/crowd_load.h"
#include "cli/connections/crowd_side.h"
#include "cli/connections/failing.h"
#include "cli/connections/link.h"
#include "cli/connections/processes.h"

namespace weft::connections {
namespace {

// What the server tells a client to do.
enum class Command : char { write = 'w', check = 'c', bye = 'b' };

// ---- a client

class Client {
 public:
  Client(const ControlSocket& link, const CrowdShape& shape, std::uint32_t index)
      : link_(link), shape_(shape), index_(index), side_(shape, shape.of_client(index)) {
    std::vector<std::uint32_t> numbers(side_.count());
    for (std::uint32_t i = 0; i < side_.count(); ++i) numbers[i] = side_.number(i);
    link_.write(&side_.place(), 1);
    link_.write(numbers.data(), numbers.size());
    link_.read(&server_, 1);
    link_.read(numbers.data(), numbers.size());
    for (std::uint32_t i = 0; i < side_.count(); ++i) side_.connect(i, server_, numbers[i]);
    link_.meet();
  }

  void serve() {
    for (;;) {
      Command command{};
      link_.read(&command, 1);
      if (command == Command::bye) return;
      const std::uint64_t wrong = command == Command::write ? write() : check();
      link_.write(&wrong, 1);
    }
  }

 private:
  [[nodiscard]] std::uint32_t connection(std::uint32_t i) const { return i * shape_.clients + index_; }

  // Once on each connection; and all that the server may read stands in the slots.
  std::uint64_t write() {
    std::uint32_t under_way = 0;
    for (std::uint32_t i = 0; i < side_.count(); ++i) {
      for (std::uint32_t m = 0; m < shape_.depth; ++m) side_.slots().write(i, connection(i), m, Writer::client);
      side_.post(i, 0, i, IBV_WR_RDMA_WRITE, server_, connection(i));
      for (++under_way; under_way == CrowdSide::kUnderWay;) under_way -= collect();
    }
    while (under_way > 0) under_way -= collect();
    return 0;
  }
  std::uint32_t collect() {
    ibv_wc done[32];
    const int n = ibv_poll_cq(side_.cq(), 32, done);
    if (n < 0) give_up("ibv_poll_cq failed at a client");
    for (int i = 0; i < n; ++i) {
      if (done[i].status == IBV_WC_SUCCESS) continue;
      give_up("a client's WRITE on connection {} failed: {}", connection(static_cast<std::uint32_t>(done[i].wr_id)),
              ibv_wc_status_str(done[i].status));
    }
    return static_cast<std::uint32_t>(n);
  }

  // Against the server's account: of each slot the last message that it has written there.
  std::uint64_t check() {
    std::vector<std::uint64_t> written(side_.count());
    link_.read(written.data(), written.size());
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < side_.count(); ++i) {
      const std::uint64_t first = written[i] > shape_.depth ? written[i] - shape_.depth : 0;
      for (std::uint64_t m = first; m < written[i]; ++m) {
        wrong += side_.slots().holds(i, connection(i), m, Writer::server) ? 0 : 1;
      }
    }
    return wrong;
  }

  const ControlSocket& link_;
  CrowdShape shape_;
  std::uint32_t index_;
  CrowdSide side_;
  CrowdSide::Place server_{};
};

// ---- the server

struct ClientProcess {
  Sockets sockets;
  ControlSocket link{sockets.end(0)};
  pid_t process = 0;
  CrowdSide::Place place{};
};
using Clients = std::vector<std::unique_ptr<ClientProcess>>;

Clients start_clients(const Options& o, const CrowdShape& shape) {
  Clients clients;
  for (std::uint32_t c = 0; c < shape.clients; ++c) {
    ClientProcess& one = *clients.emplace_back(std::make_unique<ClientProcess>());
    one.process = start(one.sockets, 1, [&](int socket) {
      for (std::uint32_t earlier = 0; earlier < c; ++earlier) clients[earlier]->sockets.close_end(0);  // not ours
      for (const auto& [name, value] : o.client_variables) setenv(name.c_str(), value.c_str(), 1);
      const ControlSocket link(socket, ControlSocket::WhenGone::is_quiet);
      Client(link, shape, c).serve();
    });
  }
  return clients;
}

void connect_all(const CrowdSide& side, const CrowdShape& shape, Clients& clients) {
  for (std::uint32_t c = 0; c < shape.clients; ++c) {
    ClientProcess& one = *clients[c];
    std::vector<std::uint32_t> theirs(shape.of_client(c)), ours(theirs.size());
    one.link.read(&one.place, 1);
    one.link.read(theirs.data(), theirs.size());
    for (std::uint32_t i = 0; i < ours.size(); ++i) ours[i] = side.number(i * shape.clients + c);
    one.link.write(&side.place(), 1);
    one.link.write(ours.data(), ours.size());
    for (std::uint32_t i = 0; i < ours.size(); ++i) side.connect(i * shape.clients + c, one.place, theirs[i]);
  }
  for (const auto& one : clients) one->link.meet();
}

void tell(const Clients& clients, Command command) {
  for (const auto& one : clients) one->link.write(&command, 1);
}
std::uint64_t answers(const Clients& clients) {
  std::uint64_t sum = 0, one_says = 0;
  for (const auto& one : clients) {
    one->link.read(&one_says, 1);
    sum += one_says;
  }
  return sum;
}

void have_clients_write(CrowdSide& side, const CrowdShape& shape, const Clients& clients) {
  tell(clients, Command::write);
  (void)answers(clients);
  for (std::uint32_t i = 0; i < shape.connections; ++i) {
    if (!side.slots().holds(i, i, 0, Writer::client)) give_up("other bytes came on connection {} than were sent", i);
  }
}

void have_clients_check(const CrowdLoad& load, const CrowdShape& shape, const Clients& clients) {
  tell(clients, Command::check);
  for (std::uint32_t c = 0; c < shape.clients; ++c) {
    std::vector<std::uint64_t> written;
    for (std::uint32_t i = c; i < shape.connections; i += shape.clients) written.push_back(load.messages()[i]);
    clients[c]->link.write(written.data(), written.size());
  }
  if (const std::uint64_t wrong = answers(clients); wrong != 0) {
    give_up("{} messages arrived with other bytes than were sent", wrong);
  }
}

}  // namespace

Findings run_crowd(const Options& o) {
  const std::uint32_t most = *std::max_element(o.qps.begin(), o.qps.end());
  const CrowdShape shape{.connections = most, .clients = std::min(o.clients, most), .depth = o.depth, .bytes = o.bytes};
  Clients clients = start_clients(o, shape);
  const auto began = std::chrono::steady_clock::now();
  CrowdSide side(shape, most);
  connect_all(side, shape, clients);
  have_clients_write(side, shape, clients);
  Findings findings;
  findings.connect_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  findings.clients = shape.clients;
  findings.buffers = most;
  for (const std::uint32_t n : o.qps) findings.points.emplace_back().connections = n;
  std::vector<CrowdSide::Place> places;
  for (const auto& one : clients) places.push_back(one->place);
  CrowdLoad load(side, shape, o.verb, std::move(places));
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    for (ConnectionsPoint& point : findings.points) {
      point.add(load.measure(std::chrono::milliseconds(o.milliseconds), point.connections));
      load.drain();
    }
  }
  if (o.verb == LoadVerb::write) have_clients_check(load, shape, clients);
  tell(clients, Command::bye);
  for (const auto& one : clients) must_end_well(one->process);
  return findings;
}

}  // namespace weft::connections
