// What the programs of a setting do, in the manner of perftest: clients keep messages under way, the server takes them
// and posts receives again; or one message goes back and forth.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/run.h"
#include "lab/testbed.h"
#include "world/random.h"

namespace weft::lab {

// Counts messages of all stations; tells when enough have been seen.
class Meter {
 public:
  explicit Meter(const Messages& m) : warm_up_(m.warm_up), end_(m.warm_up + m.measured) {}
  std::function<void(Time)> on_start, on_end;

  void count(Time now) {
    ++seen_;
    if (seen_ == warm_up_) on_start(now);
    if (seen_ == end_) on_end(now);
  }
  [[nodiscard]] bool counting() const { return seen_ >= warm_up_ && seen_ < end_; }
  [[nodiscard]] bool over() const { return seen_ >= end_; }
  [[nodiscard]] std::uint64_t messages() const { return end_ - warm_up_; }

 private:
  std::uint64_t warm_up_, end_, seen_ = 0;
};

// The programs of one station: a thread sleeps until its completion queue has something, takes a few, does what they
// call for, and looks again.
class Side : public sim::Program {
 public:
  using Peers = std::vector<const Station*>;  // of its ends, in turn
  // `number`: of a client among clients; 0 for the server.
  Side(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter, std::uint64_t seed);
  Side(const Side&) = delete;

  void on_thread(Time now, std::uint32_t thread) final;
  [[nodiscard]] virtual bool asks() const = 0;  // it posts what is measured
  // What its threads have spent on posting and completing, all together, without looking in vain.
  [[nodiscard]] Time busy() const { return busy_; }

 protected:
  // Something that a thread does before it looks for completions for the first time. False: no more.
  virtual bool begin(Time& at, std::uint32_t thread) {
    static_cast<void>(at), static_cast<void>(thread);
    return false;
  }
  // One completion, at `at` of this thread's time, which it moves on by what it does.
  virtual void take(Time& at, std::uint32_t thread, const nic::Completion& done) = 0;

  void send(Time& at, std::uint32_t end, bool signaled);
  // Anything else, and its doorbell.
  void post(Time& at, std::uint32_t end, const host::WorkRequest& request);
  // What a thread does with the bytes of a message (work_rate).
  void work(Time& at, std::uint64_t bytes) const;
  void was_busy(Time span) { busy_ += span; }
  [[nodiscard]] const Station& peer_of(std::uint32_t end) const { return *peers_[end % peers_.size()]; }
  // A stateless card hears of receives, too: one doorbell for all of them.
  void post_receives(Time& at, std::uint32_t end, std::uint32_t count);
  // Where a message of this queue pair comes from or goes to: the buffer of this number, of those that it has.
  [[nodiscard]] std::uint64_t somewhere(const Station& s, std::uint32_t end, std::uint64_t buffer = 0);
  // The number of the other end of this one, among its station's. The server's ends go to the clients in turn.
  [[nodiscard]] std::uint32_t remote_end(std::uint32_t end) const {
    return peers_.size() > 1 ? end / setting_.clients : end * setting_.clients + number_;
  }

  const Setting& setting_;
  Station& station_;
  Meter& meter_;
  world::Random random_;

 private:
  std::uint32_t number_;
  Peers peers_;
  std::vector<std::uint32_t> received_into_;  // by end: the buffer of the last receive that was posted
  Time busy_ = 0;
};

// Keeps `depth` messages under way on each queue pair: fills one, then the next, as perftest's loop does (run_iter_bw).
// perftest runs for seconds, and then its queue pairs are at different points of their rounds. Measuring begins there:
// for each queue pair it is drawn how many messages of its round have gone before, unreported.
class StreamClient : public Side {
 public:
  using Side::Side;
  [[nodiscard]] bool asks() const override { return true; }
  void start(Time now);

 protected:
  bool begin(Time& at, std::uint32_t thread) override;
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
  // The next queue pair that this thread fills for the first time, if that is one.
  [[nodiscard]] std::uint32_t to_begin(std::uint32_t thread) const { return to_begin_[thread]; }

 private:
  void fill(Time& at, std::uint32_t end);
  [[nodiscard]] std::uint32_t round() const { return setting_.signal_every; }

  std::vector<std::uint32_t> under_way_, unsignaled_;  // by queue pair
  std::vector<std::uint32_t> to_begin_;                // by thread: the next of its queue pairs to fill
};

class StreamServer final : public Side {
 public:
  using Side::Side;
  [[nodiscard]] bool asks() const override { return false; }
  void start(Time now);

 private:
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
};

// A message is answered by one of the same size.
class PingPong final : public Side {
 public:
  PingPong(const Setting& setting, Station& station, Peers peers, Meter& meter, std::uint64_t seed, bool first)
      : Side(setting, station, 0, std::move(peers), meter, seed), first_(first), sent_(station.ends.size()) {}
  [[nodiscard]] bool asks() const override { return first_; }
  void start(Time now);
  [[nodiscard]] const std::vector<Time>& half_round_trips() const { return half_; }

 private:
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
  bool first_;
  std::vector<Time> sent_;  // when, by queue pair
  std::vector<Time> half_;
};

// The same with WRITEs: each side looks at the last byte of its buffer until it has been written.
class WritePingPong final : public Side {
 public:
  WritePingPong(const Setting& setting, Station& station, Peers peers, Meter& meter, std::uint64_t seed, bool first)
      : Side(setting, station, 0, std::move(peers), meter, seed), first_(first), sent_(station.ends.size()) {}
  [[nodiscard]] bool asks() const override { return first_; }
  void start(Time now);
  void on_written(Time now, std::uint32_t end) override;
  [[nodiscard]] const std::vector<Time>& half_round_trips() const { return half_; }

 private:
  void take(Time&, std::uint32_t, const nic::Completion&) override {}
  bool first_;
  std::vector<Time> sent_;  // when, by queue pair
  std::vector<Time> half_;
};

}  // namespace weft::lab
