#include "client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "common/tcp.h"
#include "messages.h"
#include "server.h"

namespace kv {

using namespace examples;

namespace {

using Clock = std::chrono::steady_clock;

// Changes values while they are read: each PUT is another one of the same kind.
class Putter {
 public:
  explicit Putter(const ClientOptions& o) : thread_([this, o] { put(o); }) {}
  ~Putter() {
    ends_ = true;
    thread_.join();
  }
  Putter(const Putter&) = delete;
  Putter& operator=(const Putter&) = delete;

 private:
  void put(const ClientOptions& o) const {
    if (o.puts == 0) return;
    const Socket socket = connect_to(o.server.address, o.server.port);
    const auto every = std::chrono::nanoseconds(1'000'000'000 / o.puts);
    std::mt19937_64 random(2);
    std::vector<std::byte> value(o.value_bytes);
    for (auto next = Clock::now(); !ends_; next += every) {
      std::this_thread::sleep_until(next);
      fill_value(random(), value.data(), value.size());
      const Question q{
          .ask = Ask::put, .key = 1 + random() % o.keys, .bytes = static_cast<std::uint32_t>(value.size())};
      Answer a;
      if (!socket.write_from(q) || !socket.write(value) || !socket.read_into(a)) give_up("the server has gone");
      if (a.is_done == 0) give_up("the server took no PUT");
    }
  }

  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// As fill_value() makes them, for whatever key.
bool is_right(Bytes value, std::size_t bytes) {
  if (value.size() != bytes) return false;
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] != static_cast<std::byte>(static_cast<std::size_t>(value[0]) + i * 7)) return false;
  }
  return true;
}

class Run {
 public:
  explicit Run(const ClientOptions& o) : options_(o), getter_(make_getter(o)), started_(o.clients), keys_(o.clients) {
    latencies_.reserve(1 << 20);
  }

  void go() {
    const Putter putter(options_);
    const auto length = std::chrono::milliseconds(options_.milliseconds);
    begin_ = Clock::now() + length / 10;  // what is before warms up
    end_ = begin_ + length;
    for (std::size_t i = 0; i < options_.clients; ++i) start(i);
    std::vector<Got> got;
    for (std::size_t under_way = options_.clients; under_way != 0;) {
      got.clear();
      getter_->poll(got);
      const auto now = Clock::now();
      for (const Got& g : got) under_way -= take(g, now) ? 0 : 1;
      if (now > end_ + std::chrono::seconds(30)) give_up("a GET has no answer after 30 s");
    }
  }

  // False: something was wrong.
  [[nodiscard]] bool report() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [this](double share) {
      if (latencies_.empty()) return 0.0;
      return latencies_[static_cast<std::size_t>(share * static_cast<double>(latencies_.size() - 1))] / 1000.0;
    };
    const double rate = static_cast<double>(latencies_.size()) * 1000 / options_.milliseconds;
    const char* const form =
        options_.json ? "{\"by\": \"%s\", \"clients\": %zu, \"rate\": %.0f, \"median_us\": %.2f, \"p90_us\": %.2f, "
                        "\"p99_us\": %.2f, \"p999_us\": %.2f, \"again\": %zu, \"wrong\": %zu}\n"
                      : "GET by %s, clients: %zu: %.0f a second; median %.2f us, 90 %% %.2f, 99 %% %.2f, 99.9 %% %.2f; "
                        "%zu asked again, %zu wrong\n";
    std::printf(form, options_.by.c_str(), options_.clients, rate, at(0.5), at(0.9), at(0.99), at(0.999), again_,
                wrong_);
    return wrong_ == 0 && !latencies_.empty();
  }

 private:
  static std::unique_ptr<Getter> make_getter(const ClientOptions& o) {
    if (o.by == "reads") return get_by_reads(o.server, o.clients);
    if (o.by == "bytecode") return get_by_bytecode(o.server, o.clients, o.object);
    if (o.by == "tcp") return get_by_tcp(o.server, o.clients);
    return get_by_kernel(o.server, o.clients);
  }

  void start(std::size_t client) {
    keys_[client] = 1 + random_() % options_.keys;
    started_[client] = Clock::now();
    getter_->start(client, keys_[client]);
  }

  // False: this client has had its last GET.
  [[nodiscard]] bool take(const Got& got, Clock::time_point now) {
    if (!got.is_whole) {
      ++again_;
      getter_->start(got.client, keys_[got.client]);
      return true;
    }
    if (!got.value || !is_right(*got.value, options_.value_bytes)) ++wrong_;
    const auto started = started_[got.client];
    if (started >= begin_ && now < end_)
      latencies_.push_back(static_cast<std::uint32_t>(std::chrono::nanoseconds(now - started).count()));
    if (now >= end_) return false;
    start(got.client);
    return true;
  }

  ClientOptions options_;
  std::unique_ptr<Getter> getter_;
  std::mt19937_64 random_{1};
  std::vector<Clock::time_point> started_;
  std::vector<std::uint64_t> keys_;
  Clock::time_point begin_, end_;
  std::vector<std::uint32_t> latencies_;  // ns
  std::size_t again_ = 0, wrong_ = 0;
};

}  // namespace

bool run_clients(const ClientOptions& options) {
  Run run(options);
  run.go();
  return run.report();
}

}  // namespace kv
