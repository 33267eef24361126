// Several programs on one host, in one thread: their lanes and the broker are the real ones (world/real), and the
// operating system is a scene's. The seed chooses who runs next, for how long, and what befalls them. Time is a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <sys/uio.h>

#include "real_parts/actors.h"
#include "real_parts/ledger.h"
#include "real_parts/network.h"
#include "real_parts/program.h"
#include "real_parts/spec.h"
#include "real_parts/times.h"
#include "world/random.h"
#include "world/real/broker/broker.h"
#include "world/real/os/descriptor.h"
#include "world/sim/trace.h"

namespace weft::scene {

constexpr std::int32_t process_of(std::size_t lane) { return static_cast<std::int32_t>(1000 + lane); }

class Scene {
 public:
  Scene(const SceneSpec& spec, std::ostream* sink);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] Outcome run();

  // -- for those who play in it
  [[nodiscard]] static Scene& current();
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] world::Random& draw() { return draw_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Program& program(std::size_t lane) { return *programs_[lane]; }
  [[nodiscard]] Met& met() { return met_; }
  [[nodiscard]] bool is_closing() const { return closing_; }
  void note(std::size_t lane, std::string_view what, std::initializer_list<std::uint64_t> numbers) {
    trace_.add(now_, static_cast<sim::HostIndex>(lane), what, numbers);
  }
  void violation(std::string what);
  // Returns when all programs have called it so often. False: the scene ends before.
  [[nodiscard]] bool wait_for_all();
  // The caller pauses until then, or until this holds, or until there is something to read.
  void wait(Time until, int fd, const std::function<bool()>& condition);

  // -- as the operating system (stage.h)
  [[nodiscard]] Time read_clock();
  [[nodiscard]] std::uint64_t ticks() { return ticks_ += draw_.below(1U << 20); }
  void may_be_preempted();
  [[nodiscard]] std::size_t start_thread(std::function<void()> run);
  void join_thread(std::size_t number);
  [[nodiscard]] std::int32_t own_process() const;
  void note_wait(bool program_drives);
  [[nodiscard]] bool copy_from(std::int32_t process, const iovec& to, const iovec& from);

  // -- as the host
  // Starts a broker if there is none.
  [[nodiscard]] const std::string& broker_path();
  // The file whose bytes lanes lock for their numbers: it outlives brokers.
  [[nodiscard]] std::string numbers_path() const;
  void on_joined() { ++joined_; }

 private:
  void plan(std::size_t connection);
  void play(Time until, const std::function<bool()>& enough);
  void act(Actor& actor);
  [[nodiscard]] bool advance();
  [[nodiscard]] bool is_stopped(std::size_t lane) const { return programs_[lane]->stopped_until > now_; }
  void cause_faults();
  void cause(const FaultSpec& fault);
  void kill(Program& program);
  [[nodiscard]] bool all_done() const;
  void close(const std::function<bool()>& enough);
  void judge(Outcome& outcome);
  void judge_calm(const nic::Counters& counters);

  SceneSpec spec_;
  world::Random draw_;
  sim::TraceDigest trace_;
  Time now_ = seconds(1);
  std::uint64_t ticks_ = 0;
  Network network_;
  std::unique_ptr<real::BrokerTurns> broker_;
  std::string broker_path_;
  real::Descriptor numbers_{memfd_create("weft-scene-numbers", MFD_CLOEXEC)};
  Ledger ledger_;
  Actors actors_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<FaultSpec> faults_;
  std::uint64_t began_ = 0;  // the step in which everybody was ready
  std::size_t waiting_for_all_ = 0, rounds_ = 0;
  bool closing_ = false;
  std::uint64_t joined_ = 0;
  std::vector<std::string> violations_;
  Met met_{};
};

}  // namespace weft::scene
