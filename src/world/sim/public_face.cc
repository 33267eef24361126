// The simulated world as programs see it (weft/simulation.h), over World and Host.
#include <deque>
#include <utility>

#include "native/inside.h"
#include "weft/simulation.h"
#include "world/sim/world.h"

namespace weft {

struct Simulation::World {
  explicit World(const SimulationOptions& options)
      : world({.seed = options.seed,
               .link = {.bits_per_second = options.bits_per_second, .delay = options.delay.in_picoseconds()}}),
        limits(options.device) {
    plan.loss = options.loss;
  }

  // A device is known by its index; which simulation it belongs to, by its state's place.
  [[nodiscard]] sim::Host& host_of(const native::DeviceState* state) {
    if (state == nullptr || state->index >= devices.size() || state != &devices[state->index]) {
      detail::misuse("a simulation was asked about a device of another world, or about an empty handle");
    }
    return world.at(state->index);
  }

  // Cards hear of work that was posted when the simulation goes on.
  void hear_doorbells() {
    for (sim::HostIndex i = 0; i < devices.size(); ++i) world.at(i).ring_doorbells();
  }
  void must_be_connected() const {
    if (!connected) detail::misuse("a simulation runs after connect(), not before");
  }

  void set_faults(sim::HostIndex from, const sim::FaultPlan& faults) {
    const sim::LinkIndex link = world.uplink(from);
    if (const sim::FaultInjector* old = world.link(link).faults(); old != nullptr) past_faults += old->counters();
    world.set_faults(link, faults);
  }

  sim::World world;
  DeviceLimits limits;
  sim::FaultPlan plan;             // until the network is there
  sim::FaultCounters past_faults;  // of plans that were replaced
  std::deque<native::DeviceState> devices;
  bool connected = false;
};

namespace {

// A task of the program, and the doorbells that it rang before it ended.
template <class Heard>
Task<> and_then(Task<> task, Heard heard) {
  co_await std::move(task);  // NOLINT(bugprone-use-after-move): clang-tidy sees the coroutine's own copy being moved
  heard();
}

bool is_probability(double p) { return p >= 0 && p <= 1; }  // not so: NaN

}  // namespace

// ---- building -------------------------------------------------------------------------------------------------------

Simulation::Simulation(const SimulationOptions& options) {
  if (!is_probability(options.loss)) detail::misuse("a simulation's loss is a probability, 0 ... 1");
  if (options.delay < Duration()) detail::misuse("a simulation's delay is not negative");
  world_ = std::make_unique<World>(options);
}

Simulation::~Simulation() {
  world_->world.tasks().abandon();  // they may own handles
  for (const native::DeviceState& device : world_->devices) {
    if (device.open) detail::misuse("a simulation went out of scope before the handles of its devices");
  }
}

Device Simulation::add_device() { return add_device(world_->limits); }

Device Simulation::add_device(const DeviceLimits& limits) {
  if (world_->connected) detail::misuse("a simulation takes no more devices after connect()");
  sim::Host& host = world_->world.add_host(native::config_of(limits));
  native::DeviceState& state = world_->devices.emplace_back();
  state.device = &host.device();
  state.index = host.index();
  state.next_address = (std::uint64_t{host.index()} + 1) << 40;  // far from each other, so that a mix-up is refused
  return native::open(state);
}

void Simulation::connect() {
  if (std::exchange(world_->connected, true)) detail::misuse("a simulation is connected once");
  world_->world.connect();
  for (sim::HostIndex i = 0; i < world_->devices.size(); ++i) world_->set_faults(i, world_->plan);
}

// ---- faults ---------------------------------------------------------------------------------------------------------

tl::expected<void, std::string> Simulation::set_faults(std::string_view plan) {
  sim::FaultPlan::Parsed parsed = sim::FaultPlan::parse(plan);
  if (!parsed.plan) return tl::unexpected(std::move(parsed.error));
  world_->plan = *parsed.plan;
  if (!world_->connected) return {};
  for (sim::HostIndex i = 0; i < world_->devices.size(); ++i) world_->set_faults(i, world_->plan);
  return {};
}

tl::expected<void, std::string> Simulation::set_faults(const Device& from, std::string_view plan) {
  sim::FaultPlan::Parsed parsed = sim::FaultPlan::parse(plan);
  if (!parsed.plan) return tl::unexpected(std::move(parsed.error));
  world_->must_be_connected();
  world_->set_faults(world_->host_of(native::Inside::device(from)).index(), *parsed.plan);
  return {};
}

// ---- running --------------------------------------------------------------------------------------------------------

bool Simulation::run(Duration until) {
  world_->must_be_connected();
  world_->hear_doorbells();
  return world_->world.run_until_idle(until.in_picoseconds()) == sim::Stop::idle;
}

void Simulation::run_for(Duration duration) {
  world_->must_be_connected();
  world_->hear_doorbells();
  (void)world_->world.run_until((now() + duration).in_picoseconds());
}

bool Simulation::step(Duration until) {
  world_->must_be_connected();
  world_->hear_doorbells();
  if (world_->world.queue().empty()) return false;
  return world_->world.run_until_idle(until.in_picoseconds(), 1) != sim::Stop::time_limit;
}

// ---- coroutines -----------------------------------------------------------------------------------------------------

void Simulation::spawn(Task<> task) {
  world_->world.tasks().spawn(and_then(std::move(task), [world = world_.get()] { world->hear_doorbells(); }));
}

std::size_t Simulation::unfinished() const { return world_->world.tasks().unfinished(); }

Task<> Simulation::sleep(Duration duration) {
  world_->hear_doorbells();
  co_await world_->world.tasks().sleep(duration.in_picoseconds());
}

Task<Completion> Simulation::completion(CompletionQueue& cq) {
  sim::Host& host = world_->host_of(native::Inside::device(cq));
  Completion done;
  world_->hear_doorbells();
  while (!cq.poll(done)) co_await host.news().wait();
  co_return done;
}

Task<CqNumber> Simulation::completion_event(CompletionChannel& channel) {
  sim::Host& host = world_->host_of(native::Inside::device(channel));
  std::optional<CqNumber> cq;
  world_->hear_doorbells();
  while (!(cq = channel.next())) co_await host.news().wait();
  co_return *cq;
}

Task<Event> Simulation::event(Device& device) {
  sim::Host& host = world_->host_of(native::Inside::device(device));
  std::optional<Event> event;
  world_->hear_doorbells();
  while (!(event = device.next_event())) co_await host.news().wait();
  co_return *event;
}

Task<> Simulation::all(std::vector<Task<>> tasks) {
  world_->hear_doorbells();
  for (Task<>& task : tasks) task = and_then(std::move(task), [world = world_.get()] { world->hear_doorbells(); });
  co_await sim::all(world_->world.tasks(), std::move(tasks));
}

// ---- what happened --------------------------------------------------------------------------------------------------

Duration Simulation::now() const { return Duration::picoseconds(world_->world.now()); }
bool Simulation::at_rest() const { return world_->world.at_rest(); }
std::uint64_t Simulation::digest() const { return world_->world.trace().value(); }
void Simulation::trace_to(std::ostream* sink) { world_->world.trace().write_to(sink); }

NetworkCounters Simulation::network() const {
  const sim::NetworkCounters& counted = world_->world.counters();
  sim::FaultCounters faults = world_->past_faults;
  faults += world_->world.fault_counters();
  NetworkCounters all{.sent = counted.sent,
                      .delivered = counted.delivered,
                      .lost = faults.dropped(),
                      .duplicated = faults.duplicated,
                      .reordered = faults.held,
                      .delayed = faults.delayed,
                      .corrupted = faults.corrupted,
                      .marked = faults.marked,
                      .unroutable = counted.unroutable};
  for (sim::HostIndex i = 0; world_->connected && i < world_->devices.size(); ++i) {
    all.sent_bytes += world_->world.link(world_->world.uplink(i)).counters().bytes;
  }
  return all;
}

}  // namespace weft
