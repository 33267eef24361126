// weft-connections: what connections cost. Two processes, N reliable connections between them, and on each connection
// as many SENDs or WRITEs under way as perftest would have; rates, completion times and shares for each N, and the
// memory of a connection that does nothing. An ordinary verbs program: it runs on any RDMA device.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/connections/failing.h"
#include "cli/connections/load.h"
#include "cli/connections/receiver.h"
#include "cli/connections/report.h"
#include "cli/connections/side.h"

namespace weft::connections {
namespace {

class Sockets {  // two, joined with each other
 public:
  Sockets() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0) give_up("socketpair: {}", std::strerror(errno));
  }
  ~Sockets() {
    for (const int end : {0, 1}) close_end(end);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  [[nodiscard]] int end(int which) const { return ends_[which]; }
  void close_end(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// Gives one end to a process of its own. Nobody else holds that end, so whoever is left hears that the other is gone.
template <class Body>
pid_t start(Sockets& sockets, int which, const Body& body) {
  const pid_t child = fork();
  if (child < 0) give_up("fork: {}", std::strerror(errno));
  if (child > 0) {
    sockets.close_end(which);
    return child;
  }
  sockets.close_end(1 - which);
  body(sockets.end(which));
  _exit(0);
}

void must_end_well(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::_Exit(1);  // it has said why
}

// In processes of their own, so that the load finds memory as if this had never been.
double measure_idle(const Shape& shape) {
  Sockets sockets, answers;
  const pid_t other = start(sockets, 1, [&](int socket) {
    const Side side(socket, Role::receives, shape);
    side.link().meet();
  });
  const pid_t one = start(sockets, 0, [&](int socket) {
    const Side side(socket, Role::sends, shape);
    const double bytes = side.bytes_per_connection();
    Link(answers.end(1)).write(&bytes, 1);
    side.link().meet();
  });
  must_end_well(one);
  must_end_well(other);
  double bytes = 0;
  Link(answers.end(0)).read(&bytes, 1);
  return bytes;
}

void measure_rounds(const Options& o, const Side& side, std::vector<Point>& points) {
  Load load(side, o.verb);
  side.link().meet();
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    for (Point& point : points) {
      point.add(load.measure(std::chrono::milliseconds(o.milliseconds), point.connections));
      load.drain();
    }
  }
}

void measure_load(const Options& o, const Shape& shape, Findings& findings) {
  Sockets sockets;
  const pid_t other = start(sockets, 1, [&](int socket) {
    const Side side(socket, Role::receives, shape);
    receive_until_told(side, o.verb);
  });
  const Side side(sockets.end(0), Role::sends, shape);
  findings.buffers = side.buffers().count();
  findings.receives = side.receives();
  measure_rounds(o, side, findings.points);
  const char bye = 'b';
  side.link().write(&bye, 1);
  must_end_well(other);
}

int run(const Options& o) {
  const std::uint32_t most = *std::max_element(o.qps.begin(), o.qps.end());
  Findings findings;
  for (const std::uint32_t n : o.qps) findings.points.emplace_back().connections = n;
  if (o.idle) findings.idle_bytes = measure_idle({.connections = most, .depth = kIdleDepth, .bytes = 1});
  measure_load(o, {.connections = most, .depth = o.depth, .bytes = o.bytes}, findings);
  fmt::print("{}", o.json ? json_of(o, findings) : text_of(o, findings));
  return 0;
}

}  // namespace
}  // namespace weft::connections

int main(int argc, char** argv) {
  using namespace weft::connections;
  const auto options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  if (options) return run(*options);
  fmt::print(stderr,
             "weft-connections: {}\n"
             "usage: weft-connections [--qps N,N...] [--depth 1..{}] [--verb send|write] [--bytes 1..{}] [--rounds N]\n"
             "                        [--milliseconds N] [--no-idle] [--json]\n",
             options.error(), kMostDepth, kMostBytes);
  return 2;
}
