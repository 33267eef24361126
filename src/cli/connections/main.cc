// weft-connections: what connections cost. Two processes, N reliable connections between them, and on each connection
// as many SENDs or WRITEs under way as perftest would have; rates, completion times and shares for each N, and the
// memory of a connection that does nothing. Or, with --clients, a server that writes to or reads from the memory of a
// few client programs, over N connections in all. An ordinary verbs program: it runs on any RDMA device.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cli/connections/crowd.h"
#include "cli/connections/failing.h"
#include "cli/connections/load.h"
#include "cli/connections/processes.h"
#include "cli/connections/receiver.h"
#include "cli/connections/report.h"
#include "cli/connections/side.h"

namespace weft::connections {
namespace {

// In processes of their own, so that the load finds memory as if this had never been.
double measure_idle(const Shape& shape) {
  Sockets sockets, answers;
  const pid_t other = start(sockets, 1, [&](int socket) {
    const LoadSide side(socket, Role::receives, shape);
    side.link().meet();
  });
  const pid_t one = start(sockets, 0, [&](int socket) {
    const LoadSide side(socket, Role::sends, shape);
    const double bytes = side.bytes_per_connection();
    ControlSocket(answers.end(1)).write(&bytes, 1);
    side.link().meet();
  });
  must_end_well(one);
  must_end_well(other);
  double bytes = 0;
  ControlSocket(answers.end(0)).read(&bytes, 1);
  return bytes;
}

void measure_rounds(const Options& o, const LoadSide& side, std::vector<ConnectionsPoint>& points) {
  LoadGenerator load(side, o.verb);
  side.link().meet();
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    for (ConnectionsPoint& point : points) {
      point.add(load.measure(std::chrono::milliseconds(o.milliseconds), point.connections));
      load.drain();
    }
  }
}

void measure_load(const Options& o, const Shape& shape, Findings& findings) {
  Sockets sockets;
  const pid_t other = start(sockets, 1, [&](int socket) {
    const LoadSide side(socket, Role::receives, shape);
    receive_until_told(side, o.verb);
  });
  const LoadSide side(sockets.end(0), Role::sends, shape);
  findings.buffers = side.buffers().count();
  findings.receives = side.receives();
  measure_rounds(o, side, findings.points);
  const char bye = 'b';
  side.link().write(&bye, 1);
  must_end_well(other);
}

int run(const Options& o) {
  if (o.clients != 0) {
    const Findings crowd = run_crowd(o);
    fmt::print("{}", o.json ? json_of(o, crowd) : text_of(o, crowd));
    return 0;
  }
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
             "                        [--milliseconds N] [--no-idle] [--json]\n"
             "       weft-connections --clients N [--client-variable NAME=VALUE]... [--verb write|read] ...\n",
             options.error(), kMostDepth, kMostBytes);
  return 2;
}
