// The simulated world: devices, cables and switches with faults, and a clock that moves only when you let it. All of it
// follows from the seed: the same program with the same seed does the same, packet for packet, in every run.
//
//   weft::Simulation sim({.seed = 7, .loss = 0.01});
//   weft::Device a = sim.add_device(), b = sim.add_device();
//   sim.connect();
//   ... make queue pairs, post work ...
//   sim.run_until([&] { return cq.poll(done); });
//
// Programs are written in that way, or as coroutines that run beside each other:
//
//   weft::Task<> client(weft::Simulation& sim, weft::QueuePair& qp, weft::CompletionQueue& cq) {
//     (void)qp.post({...});
//     const weft::Completion done = co_await sim.completion(cq);
//   }
//   sim.spawn(client(sim, qp, cq));
//   sim.run();
//
// The simulation owns the cards and must outlive the handles of its devices. Work that is posted reaches the card when
// the simulation runs next, or when the coroutine that posted it next waits or ends; no simulated time passes until
// then. One thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/completion_queue.h"
#include "weft/device.h"
#include "weft/task.h"
#include "weft/types.h"

namespace weft {

struct SimulationOptions {
  std::uint64_t seed = 1;
  double loss = 0;  // probability, 0 ... 1, that a packet is lost on its way from its host; set_faults knows more
  std::uint64_t bits_per_second = 100'000'000'000;  // of each link; 0: any number of bytes takes no time
  Duration delay = Duration::microseconds(1);       // of each link
  DeviceLimits device{};
};

// What the network has done so far.
struct NetworkCounters {
  std::uint64_t sent = 0;        // packets, by devices
  std::uint64_t sent_bytes = 0;  // on the wire: with all headers, Ethernet's gaps included
  std::uint64_t delivered = 0;   // to devices
  std::uint64_t lost = 0;        // by chance, in a black hole, or by script
  std::uint64_t duplicated = 0, reordered = 0, delayed = 0, corrupted = 0, marked = 0;
  std::uint64_t unroutable = 0;  // to an address that nobody has
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options = {});
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  // Ends the coroutines that still wait. Aborts if a device is still open.
  ~Simulation();

  // -- building: devices first, then the network --
  [[nodiscard]] Device add_device();  // with the options' limits
  [[nodiscard]] Device add_device(const DeviceLimits& limits);
  // A cable between two devices, a switch between more. Once, before anything runs.
  void connect();

  // -- faults --
  // A plan on one line: loss=0.01,duplication=0.005,reordering=0.01,corruption=0.001,jitter=0.1,jitter_max=10us,
  // ecn=0.2,hole=5us..9us,drop=3 (the third packet),corrupt=7; or none. It replaces what there was, on the links from
  // all devices or from one. The error says what is wrong, where, and what to write instead.
  tl::expected<void, std::string> set_faults(std::string_view plan);
  tl::expected<void, std::string> set_faults(const Device& from, std::string_view plan);

  // -- running --
  // Until nothing is left to happen: true. Or until that time, the clock's, has come: false.
  bool run(Duration until = Duration::forever());
  // So long, whether something happens or not.
  void run_for(Duration duration);
  // Until `condition()` is true, asked before each event; false: nothing is left to happen, or that time has come.
  template <std::predicate Condition>
  bool run_until(Condition&& condition, Duration until = Duration::forever()) {
    while (!condition()) {
      if (!step(until)) return false;
    }
    return true;
  }
  // The next event, if there is one until then.
  bool step(Duration until = Duration::forever());

  // -- coroutines --
  // Starts when the simulation runs. What a task throws comes out of the call that runs the simulation.
  void spawn(Task<> task);
  [[nodiscard]] std::size_t unfinished() const;  // spawned, and not at their end
  // To be awaited. What they refer to must live until they are done.
  [[nodiscard]] Task<> sleep(Duration duration);
  [[nodiscard]] Task<Completion> completion(CompletionQueue& cq);  // the next of this queue
  [[nodiscard]] Task<CqNumber> completion_event(CompletionChannel& channel);
  [[nodiscard]] Task<Event> event(Device& device);
  [[nodiscard]] Task<> all(std::vector<Task<>> tasks);  // beside each other, until all have ended

  // -- what happened --
  [[nodiscard]] Duration now() const;  // since the world began
  // Nothing under way, no timer armed.
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] NetworkCounters network() const;
  // One number for everything that happened: two runs that differ anywhere differ here.
  [[nodiscard]] std::uint64_t digest() const;
  // Writes a line for each packet, completion and event from now on; nullptr ends that.
  void trace_to(std::ostream* sink);

 private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace weft
