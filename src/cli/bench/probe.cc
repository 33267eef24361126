#include "cli/bench/probe.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <vector>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/icrc.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/socket_address.h"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kUdpSegment = 103, kUdpGro = 104;
constexpr std::size_t kData = 4096, kHeader = 12, kTrailer = wire::kIcrcBytes, kPacket = kHeader + kData + kTrailer;
constexpr std::size_t kSegments = 65000 / kPacket, kPlacedBytes = 64U << 20;
constexpr std::chrono::milliseconds kStream = 1s, kSilence = 200ms;

real::Descriptor open_socket(real::SocketAddress& name) {
  real::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int big = 64 << 20, on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &big, sizeof big);
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof big);
  setsockopt(socket.get(), IPPROTO_UDP, kUdpGro, &on, sizeof on);
  name = real::socket_address(wire::Address::v4(127, 0, 0, 1), 0);
  socklen_t bytes = name.bytes();
  if (bind(socket.get(), &name.any, bytes) != 0 || getsockname(socket.get(), &name.any, &bytes) != 0) return {};
  return socket;
}

// Takes, checks and places until it is silent; Gb/s.
double sink(int socket) {
  std::vector<std::byte> memory(kPlacedBytes), buffer(65536);
  std::size_t at = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  Clock::time_point first{}, last{};
  for (;;) {
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    const auto now = Clock::now();
    if (got <= 0) {
      if (bytes > 0 && now - last > kSilence) break;
      continue;
    }
    if (bytes == 0) first = now;
    last = now;
    for (std::size_t o = 0; o + kPacket <= static_cast<std::size_t>(got); o += kPacket) {
      const std::span<const std::byte> data(buffer.data() + o + kHeader, kData);
      crc ^= wire::icrc_extend(0, data);
      at = at + kData > kPlacedBytes ? 0 : at;
      std::memcpy(memory.data() + at, data.data(), kData);
      at += kData;
      bytes += kData;
    }
  }
  const double seconds = std::chrono::duration<double>(last - first).count();
  return crc == 1 ? 0 : static_cast<double>(bytes) * 8 / seconds / 1e9;
}

void stream(int socket, const real::SocketAddress& to) {
  const int segment = kPacket;
  setsockopt(socket, IPPROTO_UDP, kUdpSegment, &segment, sizeof segment);
  std::vector<std::byte> memory(kPlacedBytes, std::byte{1});
  std::array<std::byte, kHeader> header{};
  std::array<std::array<std::byte, kTrailer>, kSegments> trailers{};
  std::array<iovec, 3 * kSegments> parts{};
  std::size_t at = 0;
  for (const auto end = Clock::now() + kStream; Clock::now() < end;) {
    for (std::size_t i = 0; i < kSegments; ++i) {
      at = at + kData > kPlacedBytes ? 0 : at;
      const std::span<std::byte> data(memory.data() + at, kData);
      at += kData;
      wire::store_icrc(trailers[i], wire::icrc_extend(0, data));
      parts[3 * i] = {header.data(), kHeader};
      parts[3 * i + 1] = {data.data(), kData};
      parts[3 * i + 2] = {trailers[i].data(), kTrailer};
    }
    msghdr m{};
    m.msg_name = const_cast<sockaddr*>(&to.any);
    m.msg_namelen = to.bytes();
    m.msg_iov = parts.data();
    m.msg_iovlen = parts.size();
    (void)sendmsg(socket, &m, 0);
  }
}

}  // namespace

std::optional<double> probe_stream_gbits() {
  real::SocketAddress from{}, to{};
  const real::Descriptor sender = open_socket(from), receiver = open_socket(to);
  int result[2];
  if (!sender || !receiver || pipe(result) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    const double rate = sink(receiver.get());
    _exit(write(result[1], &rate, sizeof rate) == sizeof rate ? 0 : 1);
  }
  usleep(50'000);
  stream(sender.get(), to);
  double rate = 0;
  const bool read_it = read(result[0], &rate, sizeof rate) == sizeof rate;
  waitpid(child, nullptr, 0);
  close(result[0]);
  close(result[1]);
  return read_it && rate > 0 ? std::optional(rate) : std::nullopt;
}

}  // namespace weft::cli
