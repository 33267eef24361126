// What the kernel lets through in datagrams of a few packets each, over UDP at the loopback address: a stream without a
// protocol. One thread checksums 4 KB packets where they lie and sends so many of them as one datagram; the other takes
// them, checksums each and places it. The card does that, and more. Both sides have so many buffers of 64 KB and use
// them in turn, as connections with a buffer each do.
//
//   build/bench/datagrams [ROUNDS]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "two_processors.h"
#include "wire/icrc.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/socket_address.h"

namespace weft::real {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kData = 4096, kBetween = 16;  // ICRC and the next one's BTH
constexpr std::size_t kMost = 15;                   // packets of a datagram
constexpr std::size_t kPackets = 240'000;           // of a round
constexpr std::size_t kMessage = 16 * kData;        // a buffer
constexpr auto kPatience = std::chrono::seconds(2);

Descriptor open_socket(SocketAddress& name) {
  Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int bytes = 8 << 20;
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  name = socket_address(wire::Address::v4(127, 0, 0, 1), 0);
  socklen_t length = name.bytes();
  if (bind(socket.get(), &name.any, length) != 0 || getsockname(socket.get(), &name.any, &length) != 0) return {};
  return socket;
}

class Stream {
 public:
  Stream(std::size_t packets, std::size_t buffers)
      : packets_(packets),
        datagrams_(kPackets / packets),
        datagram_bytes_(packets * (kBetween + kData) + kBetween),
        from_(buffers * kMessage, std::byte{1}),
        to_(buffers * kMessage) {
    SocketAddress to{}, from{};
    in_ = open_socket(to);
    out_ = open_socket(from);
    good_ = in_ && out_ && connect(out_.get(), &to.any, to.bytes()) == 0;
    // The kernel counts what a datagram takes, which is more than its bytes; what does not fit would be lost.
    int room = 0;
    socklen_t bytes = sizeof room;
    good_ = good_ && getsockopt(in_.get(), SOL_SOCKET, SO_RCVBUF, &room, &bytes) == 0;
    window_ = std::max<std::size_t>(static_cast<std::size_t>(std::min(room / 4, 1 << 20)) / datagram_bytes_, 1);
  }

  // Microseconds for a datagram; nothing if one was lost or came damaged.
  [[nodiscard]] std::optional<double> run() {
    if (!good_) return std::nullopt;
    taken_ = 0;
    over_ = false;
    std::thread receiver([this] { take(); });
    const auto begin = Clock::now();
    const bool all = send();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    over_ = true;
    receiver.join();
    return all && !wrong_ ? std::optional(took.count() / static_cast<double>(datagrams_)) : std::nullopt;
  }

 private:
  bool send() {
    std::vector<std::byte> between(kMost * kBetween + kBetween);
    std::array<iovec, 2 * kMost + 1> parts{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < datagrams_; ++i) {
      if (!await(i + 1 - std::min(i + 1, window_))) return false;
      std::size_t count = 0;
      for (std::size_t p = 0; p < packets_; ++p, at = (at + kData) % from_.size()) {
        const std::span<const std::byte> data(from_.data() + at, kData);
        std::byte* const header = between.data() + p * kBetween;
        wire::store_icrc(std::span<std::byte, wire::kIcrcBytes>(header + kBetween, wire::kIcrcBytes),
                         wire::icrc_extend(0, data));
        parts[count++] = {header, kBetween};
        parts[count++] = {from_.data() + at, kData};
      }
      parts[count++] = {between.data() + packets_ * kBetween, kBetween};
      msghdr m{};
      m.msg_iov = parts.data();
      m.msg_iovlen = count;
      if (sendmsg(out_.get(), &m, 0) < 0) return false;
    }
    return await(datagrams_);
  }
  // Until so many have been taken.
  [[nodiscard]] bool await(std::size_t count) const {
    if (taken_.load(std::memory_order_acquire) >= count) return true;
    for (const auto end = Clock::now() + kPatience; Clock::now() < end;) {
      if (taken_.load(std::memory_order_acquire) >= count) return true;
    }
    return false;
  }
  void take() {
    stay_on(1);
    std::vector<std::byte> datagram(1 << 16);
    std::size_t at = 0;
    while (!over_.load(std::memory_order_relaxed)) {
      const ssize_t got = recv(in_.get(), datagram.data(), datagram.size(), 0);
      if (got < 0) continue;
      for (std::size_t p = 0; p < packets_; ++p, at = (at + kData) % to_.size()) {
        const std::byte* const begin = datagram.data() + p * (kBetween + kData) + kBetween;
        const std::span<const std::byte> data(begin, kData);
        const std::span<const std::byte, wire::kIcrcBytes> icrc(begin + kData, wire::kIcrcBytes);
        if (wire::icrc_extend(0, data) != wire::load_icrc(icrc)) wrong_ = true;
        std::memcpy(to_.data() + at, data.data(), kData);
      }
      taken_.fetch_add(1, std::memory_order_release);
    }
  }

  std::size_t packets_, datagrams_, datagram_bytes_, window_ = 0;
  std::vector<std::byte> from_, to_;
  bool good_ = false;
  Descriptor in_, out_;
  bool wrong_ = false;  // some checksum
  alignas(128) std::atomic<std::size_t> taken_ = 0;
  std::atomic<bool> over_ = false;
};

}  // namespace

int run(std::size_t rounds) {
  struct Row {
    std::size_t packets, buffers;
    std::vector<double> took{};
  };
  std::array rows{Row{1, 1},      Row{4, 1},       Row{8, 1},        Row{kMost, 1},
                  Row{kMost, 16}, Row{kMost, 128}, Row{kMost, 1024}, Row{kMost, 4096}};
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      const auto one = Stream(row.packets, row.buffers).run();
      if (!one) return fmt::print(stderr, "a datagram was lost or damaged, or there is no loopback address\n"), 1;
      row.took.push_back(*one);
    }
  }
  for (Row& row : rows) {
    std::sort(row.took.begin(), row.took.end());
    const double median = row.took[rounds / 2];
    fmt::print(
        "{:>2} packets  {:>4} buffers  {:5.2f} us a datagram  {:5.1f} Gb/s (median of {}, {:.2f} to {:.2f} us)\n",
        row.packets, row.buffers, median, static_cast<double>(row.packets * kData) * 8 / median / 1e3, rounds,
        row.took.front(), row.took.back());
  }
  return 0;
}

}  // namespace weft::real

int main(int argc, char** argv) { return weft::run_rounds(argc, argv, weft::real::run); }
