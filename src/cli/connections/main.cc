// weft-connections: what connections cost. Two programs, N reliable connections between them, 512-byte SENDs over all
// of them in turn; messages a second for each N, and the memory of a connection that does nothing. An ordinary verbs
// program: it runs on any RDMA device.
//
//   weft-connections [--qps 1,16,128,1024,10000] [--bytes 512] [--rounds 20] [--milliseconds 100] [--json]
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/samples.h"
#include "cli/connections/side.h"

namespace weft::connections {
namespace {

struct Options {
  std::vector<std::uint32_t> qps{1, 16, 128, 1024, 10000};
  std::uint32_t bytes = 512, rounds = 20, milliseconds = 100;
  bool json = false;
};

bool parse_number(std::string_view text, std::uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

bool parse_list(std::string_view text, std::vector<std::uint32_t>& out) {
  out.clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!parse_number(text.substr(0, comma), out.emplace_back())) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return !out.empty();
}

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--json") {
      o.json = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string_view value = argv[++i];
    const bool good = name == "--qps"            ? parse_list(value, o.qps)
                      : name == "--bytes"        ? parse_number(value, o.bytes) && o.bytes <= kMaxBytes
                      : name == "--rounds"       ? parse_number(value, o.rounds)
                      : name == "--milliseconds" ? parse_number(value, o.milliseconds)
                                                 : false;
    if (!good) return false;
  }
  return true;
}

// Send queues of the program's own size; receives are shared.
constexpr double kRingBytes = Side::kDepth * 64.0;

int report(const Options& o, const std::vector<cli::Samples>& rates, double idle_bytes) {
  const auto base = std::find(o.qps.begin(), o.qps.end(), 128U);
  if (o.json) std::printf("[");
  for (std::size_t i = 0; i < o.qps.size(); ++i) {
    const double rate = rates[i].median().value_or(0);
    const auto reference = static_cast<std::size_t>(base - o.qps.begin());
    const double ratio = base == o.qps.end() ? 0 : cli::Samples::ratio(rates[i], rates[reference]).value_or(0);
    if (o.json) {
      std::printf(
          "{\"name\": \"connections_%u\", \"value\": %.0f, \"unit\": \"messages/s\", \"beside\": \"128 connections\", "
          "\"ratio\": %.3f},\n ",
          o.qps[i], rate, ratio);
    } else {
      std::printf("%6u connections  %8.0f messages/s  %5.2f Gb/s", o.qps[i], rate, rate * o.bytes * 8 / 1e9);
      ratio > 0 ? std::printf("  %.2f of 128\n", ratio) : std::printf("\n");
    }
  }
  std::printf(o.json
                  ? "{\"name\": \"idle_connection\", \"value\": %.0f, \"unit\": \"bytes\", \"beside\": \"its rings\", "
                    "\"ratio\": %.2f}]\n"
                  : "memory of an idle connection: %.0f bytes on one side, %.0f beyond the ring of 16 entries\n",
              idle_bytes, o.json ? idle_bytes / kRingBytes : idle_bytes - kRingBytes);
  return 0;
}

int run(const Options& o) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 1;
  const pid_t child = fork();  // before any device is open
  const std::uint32_t most = *std::max_element(o.qps.begin(), o.qps.end());
  if (child == 0) {
    Side(pair[1], most, o.bytes).receive_until_told();
    _exit(0);
  }
  std::vector<cli::Samples> rates(o.qps.size());
  double idle_bytes = 0;
  {
    Side sender(pair[0], most, o.bytes);
    idle_bytes = sender.bytes_per_connection();
    for (std::uint32_t round = 0; round < o.rounds; ++round) {
      for (std::size_t i = 0; i < o.qps.size(); ++i) {
        rates[i].add(sender.send_for(std::chrono::milliseconds(o.milliseconds), o.qps[i]));
      }
    }
    sender.say_goodbye();
  }
  waitpid(child, nullptr, 0);
  return report(o, rates, idle_bytes);
}

}  // namespace
}  // namespace weft::connections

int main(int argc, char** argv) {
  weft::connections::Options options;
  if (!weft::connections::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: weft-connections [--qps N,N...] [--bytes 1..%u] [--rounds N] [--milliseconds N] [--json]\n",
                 weft::connections::kMaxBytes);
    return 2;
  }
  return weft::connections::run(options);
}
