// A bottleneck between two network namespaces, in user space: what one sends to its device `neck` leaves by the
// other's, later, no faster than a rate, and not all of it.
//
//   bottleneck HERE THERE RATE DELAY BUFFER LOSS [SEED]
//
// HERE and THERE are paths of namespaces; RATE is in Mb/s, DELAY in milliseconds each way, BUFFER in bytes of packets
// that wait for the line, LOSS in percent. It says "ready" when both devices are there (whoever started it sets them up
// then), and goes on until it is ended.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

[[noreturn]] void give_up(const char* deed) {
  std::fprintf(stderr, "bottleneck: %s: %s\n", deed, std::strerror(errno));
  std::exit(1);
}

int open_device(const char* name_space) {
  const int where = open(name_space, O_RDONLY | O_CLOEXEC);
  if (where < 0 || setns(where, CLONE_NEWNET) != 0) give_up(name_space);
  close(where);
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) give_up("/dev/net/tun");
  ifreq request{};
  std::strcpy(request.ifr_name, "neck");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(device, TUNSETIFF, &request) != 0) give_up("TUNSETIFF");
  return device;
}

struct Line {
  double nanoseconds_per_byte = 0;
  Nanoseconds delay{};
  std::size_t buffer = 0;
  double loss = 0;
};

// One way: a queue in front of the line, then the way.
class Way {
 public:
  Way(const Line& line, unsigned seed) : line_(line), chance_(seed) {}

  void take(int from, Clock::time_point now) {
    std::array<char, 65536> bytes;
    for (int i = 0; i < 64; ++i) {
      const ssize_t n = read(from, bytes.data(), bytes.size());
      if (n <= 0) return;
      const auto size = static_cast<std::size_t>(n);
      free_at_ = std::max(free_at_, now);
      const double waiting = static_cast<double>(std::chrono::duration_cast<Nanoseconds>(free_at_ - now).count()) /
                             line_.nanoseconds_per_byte;
      if (waiting + static_cast<double>(size) > static_cast<double>(line_.buffer)) {
        continue;
      }
      free_at_ += Nanoseconds(static_cast<std::int64_t>(static_cast<double>(size) * line_.nanoseconds_per_byte));
      if (std::uniform_real_distribution<>(0, 1)(chance_) < line_.loss) continue;
      under_way_.push_back({free_at_ + line_.delay, std::vector<char>(bytes.data(), bytes.data() + size)});
    }
  }
  void give(int to, Clock::time_point now) {
    for (; !under_way_.empty() && under_way_.front().at <= now; under_way_.pop_front()) {
      const std::vector<char>& bytes = under_way_.front().bytes;
      (void)!write(to, bytes.data(), bytes.size());  // a device that is full has lost it
    }
  }
  [[nodiscard]] Clock::time_point next() const {
    return under_way_.empty() ? Clock::time_point::max() : under_way_.front().at;
  }

 private:
  struct UnderWay {
    Clock::time_point at;
    std::vector<char> bytes;
  };
  Line line_;
  std::mt19937 chance_;
  std::deque<UnderWay> under_way_;
  Clock::time_point free_at_{};
};

}  // namespace

int main(int count, char** words) {
  if (count < 7) {
    std::fprintf(stderr, "bottleneck HERE THERE RATE DELAY BUFFER LOSS [SEED]\n");
    return 2;
  }
  const Line line{.nanoseconds_per_byte = 8000 / std::atof(words[3]),
                  .delay = Nanoseconds(static_cast<std::int64_t>(std::atof(words[4]) * 1e6)),
                  .buffer = static_cast<std::size_t>(std::atoll(words[5])),
                  .loss = std::atof(words[6]) / 100};
  const auto seed = static_cast<unsigned>(count > 7 ? std::atoi(words[7]) : 1);
  const std::array devices{open_device(words[1]), open_device(words[2])};
  std::array ways{Way(line, seed), Way(line, seed + 1)};
  std::printf("ready\n");
  std::fflush(stdout);
  std::array<pollfd, 2> ready{pollfd{devices[0], POLLIN, 0}, pollfd{devices[1], POLLIN, 0}};
  for (;;) {
    const Clock::time_point next = std::min(ways[0].next(), ways[1].next()), now = Clock::now();
    const auto wait = std::clamp(next - now, Clock::duration::zero(), Clock::duration(std::chrono::milliseconds(100)));
    const timespec limit{0, std::chrono::duration_cast<Nanoseconds>(wait).count()};
    if (ppoll(ready.data(), ready.size(), &limit, nullptr) < 0 && errno != EINTR) give_up("ppoll");
    for (std::size_t i = 0; i < ways.size(); ++i) {
      ways[i].take(devices[i], Clock::now());
      ways[i].give(devices[1 - i], Clock::now());
    }
  }
}
