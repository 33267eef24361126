// What a message takes from one processor to the other through a ring in shared memory, beside the least that it could:
// a word that one writes and the other waits for. Two threads answer each other; each works for a while in between, as
// programs do, because a word that is answered at once comes back before anybody else has asked for its cache line.
//
//   build/bench/ring [ROUNDS]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "two_processors.h"
#include "world/real/shm/ring.h"

namespace weft::real {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kMessages = 20'000, kBytes = 64;
constexpr Clock::duration kWork = std::chrono::nanoseconds(300);

void work() {
  for (const auto begin = Clock::now(); Clock::now() - begin < kWork;) {
  }
}

// A way to send messages to the other side, and to wait for its.
class alignas(128) Word {
 public:
  Word(std::atomic<std::uint64_t>& out, std::atomic<std::uint64_t>& in) : out_(out), in_(in) {}
  void send() { out_.store(++sent_, std::memory_order_release); }
  void await() {
    ++heard_;
    while (in_.load(std::memory_order_acquire) != heard_) {
    }
  }

 private:
  std::atomic<std::uint64_t>&out_, &in_;
  std::uint64_t sent_ = 0, heard_ = 0;
};

// Each has its own lines: what one thread writes must not be beside what the other does.
class alignas(128) Records {
 public:
  Records(Ring& out, Ring& in) : out_(out), in_(in) {
    packet_.headers.bth.opcode = wire::Opcode::srnic_send_only;
    packet_.payload = {&piece_, 1};
    packet_.payload_bytes = kBytes;
    packet_.last = true;
  }
  Records(const Records&) = delete;
  void send() {
    (void)out_.write(packet_.flow, packet_);
    (void)out_.publish();
  }
  void await() {
    bool came = false;
    while (!came) {
      if (in_.empty()) continue;
      (void)in_.read(1, [&](const wire::Flow&, std::span<const std::byte> datagram, DatagramTraits) {
        std::copy_n(datagram.end() - kBytes - wire::kIcrcBytes, kBytes, bytes_.begin());
        came = true;  // else it was the end of the ring
      });
    }
    in_.done();
  }

 private:
  RingWriter out_;
  RingReader in_;
  std::array<std::byte, kBytes> bytes_{};
  nic::Fragment piece_{bytes_.data(), kBytes};
  nic::OutPacket packet_;
};

// Nanoseconds one way, without the work.
template <class Side>
double one_way(Side& a, Side& b) {
  std::thread other([&b] {
    stay_on(1);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      b.await();
      work();
      b.send();
    }
  });
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    a.send();
    a.await();
    work();
  }
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  other.join();
  return took.count() / (2.0 * kMessages) - static_cast<double>(std::chrono::nanoseconds(kWork).count());
}

void print(const char* name, std::vector<double>& rounds) {
  std::sort(rounds.begin(), rounds.end());
  fmt::print("{:<6} {:5.0f} ns one way (median of {}, {:.0f} to {:.0f})\n", name, rounds[rounds.size() / 2],
             rounds.size(), rounds.front(), rounds.back());
}

}  // namespace

int run(std::size_t rounds) {
  struct alignas(128) Line {
    std::atomic<std::uint64_t> word{0};
  };
  Line there, back;
  Word a(there.word, back.word), b(back.word, there.word);
  const auto rings = std::make_unique<std::array<Ring, 2>>();
  Records c((*rings)[0], (*rings)[1]), d((*rings)[1], (*rings)[0]);
  std::vector<double> word, record;
  for (std::size_t i = 0; i < rounds; ++i) {
    word.push_back(one_way(a, b));
    record.push_back(one_way(c, d));
  }
  print("word", word);
  print("record", record);
  return 0;
}

}  // namespace weft::real

int main(int argc, char** argv) { return weft::run_rounds(argc, argv, weft::real::run); }
