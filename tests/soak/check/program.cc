// A verbs program that checks everything: data at both sides, order, what nobody wrote to, and that each atomic was
// done once. When its peer is gone it says so and starts anew. Two of them make a pair:
//
//   soak_check --listen ADDRESS:PORT [--name N] [--events]
//   soak_check --connect ADDRESS:PORT [--name N] [--events] [--seed N] [--sessions N] [--seconds N]
//
// It says `progress BATCHES BYTES`, `lost PEER WHY` when a connection ended otherwise than by a goodbye, and
// `WRONG ...` when data are not what they must be, and then ends with 3. SIGTERM ends it well.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session.h"

namespace soak {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kHeartbeat = std::chrono::milliseconds(500), kPause = std::chrono::milliseconds(200);
constexpr int kNapMs = 100;

volatile std::sig_atomic_t asked_to_end = 0;

struct Options {
  sockaddr_in place{};
  bool listens = false, events = false;
  std::string name = "check";
  std::uint64_t seed = 1, sessions = 1, seconds = 1 << 30;
  Sabotage sabotage = Sabotage::none;
};

class Program {
 public:
  Program(const Options& options, Device& device)
      : options_(options), self_{device, options.name, options.events, options.sabotage, {}} {
    if (options.listens) listen();
  }
  ~Program() {
    sessions_.clear();
    if (listener_ >= 0) ::close(listener_);
  }

  void run() {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(options_.seconds);
    bool finishing = false;
    while (!finishing || !sessions_.empty()) {
      if (!finishing && (asked_to_end != 0 || Clock::now() > end)) {
        finishing = true;
        for (auto& s : sessions_) s->finish();
      }
      if (!finishing && !options_.listens) call();
      wait();
      std::erase_if(sessions_, [](const auto& s) { return s->ended(); });
      tell(false);
    }
    tell(true);
  }

 private:
  void listen() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    stress::must(setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 ? 0 : errno, "SO_REUSEADDR");
    stress::must(bind(listener_, socket_address(), sizeof options_.place) == 0 ? 0 : errno, "bind");
    stress::must(::listen(listener_, 16) == 0 ? 0 : errno, "listen");
  }
  const sockaddr* socket_address() const {
    return static_cast<const sockaddr*>(static_cast<const void*>(&options_.place));
  }

  // As many connections as were asked for. Who was refused waits a little.
  void call() {
    if (sessions_.size() >= options_.sessions || Clock::now() < next_call_) return;
    next_call_ = Clock::now() + kPause;
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return;
    if (connect(socket, socket_address(), sizeof options_.place) != 0 && errno != EINPROGRESS) {
      ::close(socket);
      return;
    }
    sessions_.push_back(std::make_unique<Caller>(self_, socket, options_.seed + 1000 * ++calls_));
  }
  void accept() {
    for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      sessions_.push_back(std::make_unique<Answerer>(self_, socket));
    }
  }

  void wait() {
    polled_.clear();
    for (const auto& s : sessions_) {
      polled_.push_back({s->socket(), static_cast<short>(s->connecting() ? POLLOUT : POLLIN), 0});
      polled_.push_back({s->channel(), POLLIN, 0});
    }
    polled_.push_back({listener_, POLLIN, 0});
    const bool busy = !options_.events && !sessions_.empty();
    if (::poll(polled_.data(), polled_.size(), busy ? 0 : kNapMs) < 0) return;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      Session& s = *sessions_[i];
      if (polled_[2 * i].revents != 0) {
        if (s.connecting()) {
          static_cast<Caller&>(s).on_connected();
        } else {
          s.on_socket();
        }
      }
      if (!s.ended() && (!options_.events || polled_[2 * i + 1].revents != 0)) s.on_completions();
    }
    if (polled_.back().revents != 0) accept();
  }

  void tell(bool last) {
    const Clock::time_point now = Clock::now();
    if (!last && (now < next_word_ || self_.totals.batches == told_)) return;
    next_word_ = now + kHeartbeat;
    told_ = self_.totals.batches;
    std::printf("progress %lu %lu\n", self_.totals.batches, self_.totals.bytes);
    std::fflush(stdout);
  }

  const Options& options_;
  Self self_;
  int listener_ = -1;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<pollfd> polled_;
  Clock::time_point next_call_{}, next_word_{};
  std::uint64_t calls_ = 0, told_ = ~0ull;
};

sockaddr_in place_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1))));
  if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &place.sin_addr) != 1) stress::die("no address", EINVAL);
  return place;
}

Sabotage sabotage_of(std::string_view name) {
  return name == "damage" ? Sabotage::damage : name == "leak" ? Sabotage::leak : Sabotage::hang;
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--events") {
      o.events = true;
      continue;
    }
    if (++i == argc) stress::die("a word is missing", EINVAL);
    const std::string value = argv[i];
    if (name == "--listen" || name == "--connect") {
      o.listens = name == "--listen";
      o.place = place_of(value);
    } else if (name == "--name") {
      o.name = value;
    } else if (name == "--sabotage") {
      o.sabotage = sabotage_of(value);
    } else {
      (name == "--seed" ? o.seed : name == "--sessions" ? o.sessions : o.seconds) = std::stoull(value);
    }
  }
  return o;
}

}  // namespace
}  // namespace soak

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { soak::asked_to_end = 1; });
  const soak::Options options = soak::read_options(argc, argv);
  try {
    soak::Device device;
    soak::Program(options, device).run();
  } catch (const std::bad_alloc&) {
    stress::die("its own memory", ENOMEM);
  }
  return 0;
}
