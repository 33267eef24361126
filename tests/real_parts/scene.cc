#include "real_parts/scene.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace weft::scene {
namespace {

constexpr Time kLimit = seconds(60);            // no scene takes that long
constexpr std::uint64_t kMaxSteps = 3'000'000;  // nor that many steps
constexpr Time kEpilogue = milliseconds(2);     // for what is still under way when all is done
constexpr std::size_t kChunk = 24 * 1024;       // of a copy from another's memory: then others may do something
constexpr double kBrokerTurns = 0.05;           // how often the broker is the next, whatever others do
constexpr int kTurns = 2;                       // of the broker's: in one it takes a call, in the next it hears it
constexpr std::size_t kMaxViolations = 8;

Scene*& current_scene() {
  static Scene* scene = nullptr;
  return scene;
}

// A socket that no path leads to.
real::Descriptor listen_at(const std::string& path) {
  real::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  [[maybe_unused]] const bool listens =
      bind(socket.get(), static_cast<sockaddr*>(static_cast<void*>(&name)), sizeof name) == 0 &&
      ::listen(socket.get(), 64) == 0;
  assert(listens);
  return socket;
}

}  // namespace

Scene& Scene::current() { return *current_scene(); }

Scene::Scene(const SceneSpec& spec, std::ostream* sink) : spec_(spec), draw_(spec.seed), network_(draw_, spec.loss) {
  trace_.write_to(sink);
  current_scene() = this;
  ledger_.arena_keys.resize(spec.lanes);
  ledger_.other_keys.resize(spec.lanes);
  for (std::size_t i = 0; i < spec.lanes; ++i) {
    programs_.push_back(std::make_unique<Program>(*this, i, ledger_, spec_));
  }
  for (std::size_t i = 0; i < spec.connections.size(); ++i) plan(i);
  for (const auto& program : programs_) {
    actors_.add(program->index(), false, [&program = *program] { program.live(); });
  }
}

Scene::~Scene() {
  closing_ = true;
  close([this] {
    return std::all_of(actors_.all().begin(), actors_.all().end(),
                       [](const auto& actor) { return actor->is_thread || actor->is_over(); });
  });
  programs_.clear();
  broker_.reset();
  current_scene() = nullptr;
}

void Scene::plan(std::size_t index) {
  Connection c{.spec = spec_.connections[index]};
  for (std::size_t s = 0; s < 2; ++s) {
    Side& side = c.sides[s];
    side.lane = c.spec.lanes[s];
    for (const MessageSpec& spec : c.spec.messages[s]) {
      const std::size_t peer = c.spec.lanes[1 - s];
      const bool reads = spec.kind == nic::WorkKind::read;
      Message m{.spec = spec, .seed = draw_.next()};
      m.source.lane = reads ? peer : side.lane;
      m.target.lane = reads ? side.lane : peer;
      for (Place* place : {&m.source, &m.target}) place->offset = programs_[place->lane]->arena().take(spec.bytes);
      if (m.consumes_receive()) c.sides[1 - s].takes.push_back(side.out.size());
      side.out.push_back(m);
    }
  }
  ledger_.connections.push_back(std::move(c));
}

void Scene::violation(std::string what) {
  if (violations_.size() < kMaxViolations) violations_.push_back(fmt::format("at {} ns: {}", now_ / 1000, what));
}

// ---- who does what next

void Scene::act(Actor& actor) {
  ++met_.steps;
  note(actor.lane, actor.is_thread ? "thread" : "program", {});
  actors_.resume(actor);
  Program& program = *programs_[actor.lane];
  if (program.dies_inside && !program.dead && actor.is_dead) {
    ++met_.killed_inside;
    kill(program);
  }
}

void Scene::wait(Time until, int fd, const std::function<bool()>& condition) {
  Actor* const me = actors_.current();
  if (me == nullptr || std::uncaught_exceptions() > 0) return;
  me->until = until;
  me->fd = fd;
  me->condition = condition;
  me->fiber->pause();
  me->condition = {};
  if (programs_[me->lane]->dead) throw Killed{};
}

void Scene::may_be_preempted() {
  Actor* const me = actors_.current();
  if (me == nullptr || closing_ || std::uncaught_exceptions() > 0) return;
  if (programs_[me->lane]->dies_inside) {
    me->is_dead = true;  // whoever chooses the next sees it
    wait(now_, -1, {});
  } else if (draw_.chance(spec_.breathes)) {
    ++met_.preemptions;
    wait(now_ + draw_.between(0, microseconds(2)), -1, {});
  }
}

bool Scene::wait_for_all() {
  const std::size_t round = rounds_;
  if (++waiting_for_all_ == programs_.size()) {
    waiting_for_all_ = 0;
    ++rounds_;
  }
  wait(now_, -1, {});
  while (rounds_ == round && !closing_) wait(kNever, -1, [&] { return rounds_ != round; });
  return !closing_;
}

// Nobody can do anything now. False: nor ever again.
bool Scene::advance() {
  Time next = network_.next();
  for (const auto& actor : actors_.all()) {
    if (!actor->is_over()) next = std::min(next, std::max(actor->until, programs_[actor->lane]->stopped_until));
  }
  for (const auto& program : programs_) {
    if (program->stopped_until > now_) next = std::min(next, program->stopped_until);
  }
  for (const FaultSpec& fault : faults_) {
    if (fault.step == 0) next = std::min(next, fault.at);
  }
  if (next == kNever) return false;
  now_ = std::max(now_, next);
  return true;
}

void Scene::play(Time until, const std::function<bool()>& enough) {
  const auto is_stopped = [this](std::size_t lane) { return this->is_stopped(lane); };
  bool turned = false;  // the broker, since somebody did something
  while (now_ < until && met_.steps < kMaxSteps && violations_.empty()) {
    cause_faults();
    network_.arrive(now_);
    const auto& ready = actors_.ready(now_, is_stopped);
    if (broker_ != nullptr && !turned && (ready.empty() || draw_.chance(kBrokerTurns))) {
      for (int i = 0; i < kTurns; ++i) broker_->turn();
      turned = true;
    } else if (!ready.empty()) {
      act(*ready[draw_.below(ready.size())]);
      turned = false;
      if (enough()) return;
    } else if (!advance()) {
      return;
    }
  }
}

bool Scene::all_done() const {
  return std::all_of(programs_.begin(), programs_.end(), [](const auto& p) { return p->dead || p->is_done(); });
}

// Everybody goes on, however long they wanted to wait, until this holds.
void Scene::close(const std::function<bool()>& enough) {
  for (std::uint64_t rounds = 0; !enough(); ++rounds) {
    assert(rounds < kMaxSteps);
    for (std::size_t i = 1; i <= actors_.all().size(); ++i) {
      Actor& actor = actors_[i];
      if (actor.is_over()) continue;
      if (actor.until != kNever) now_ = std::max(now_, actor.until);
      actors_.resume(actor);
    }
    if (broker_ != nullptr) broker_->turn();
  }
}

// ---- the operating system

Time Scene::read_clock() {
  if (actors_.current() != nullptr) {
    now_ += draw_.between(nanoseconds(5), nanoseconds(40));
    may_be_preempted();
  }
  return now_;
}

std::size_t Scene::start_thread(std::function<void()> run) {
  return actors_.add(actors_.current()->lane, true, std::move(run));
}

void Scene::join_thread(std::size_t number) {
  close([&] { return actors_[number].is_over(); });
}

std::int32_t Scene::own_process() const { return process_of(actors_.current()->lane); }

void Scene::note_wait(bool program_drives) {
  Actor* const me = actors_.current();
  if (me == nullptr) return;
  if (std::exchange(me->program_drives, program_drives) != program_drives) ++met_.drivers_changed;
  if (!program_drives) ++met_.sleeps;
}

bool Scene::copy_from(std::int32_t process, const iovec& to, const iovec& from) {
  const auto owner = static_cast<std::size_t>(process - process_of(0));
  auto* const here = static_cast<std::byte*>(to.iov_base);
  const auto* const there = static_cast<const std::byte*>(from.iov_base);
  for (std::size_t at = 0; at < to.iov_len; at += kChunk) {
    may_be_preempted();
    if (owner >= programs_.size() || programs_[owner]->dead) return false;
    std::memcpy(here + at, there + at, std::min(kChunk, to.iov_len - at));
  }
  may_be_preempted();
  return true;
}

std::string Scene::numbers_path() const { return fmt::format("/proc/self/fd/{}", numbers_.get()); }

const std::string& Scene::broker_path() {
  static std::uint64_t started = 0;
  if (broker_ == nullptr) {
    broker_path_ = std::string(1, '\0') + fmt::format("weft-scene-{}-{}", getpid(), ++started);
    broker_ = std::make_unique<real::BrokerTurns>(listen_at(broker_path_));
    ++met_.brokers;
  }
  return broker_path_;
}

// ---- what befalls them

void Scene::cause_faults() {
  for (std::size_t i = 0; i < faults_.size();) {
    const bool is_due = faults_[i].step != 0 ? met_.steps - began_ + 1 >= faults_[i].step : now_ >= faults_[i].at;
    if (!is_due) {
      ++i;
      continue;
    }
    const FaultSpec fault = faults_[i];
    faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(i));
    cause(fault);
  }
}

void Scene::cause(const FaultSpec& fault) {
  note(fault.lane, kFaultNames[static_cast<std::size_t>(fault.kind)], {});
  Program& program = *programs_[fault.lane];
  switch (fault.kind) {
    case FaultKind::broker_dies: broker_.reset(); return;
    case FaultKind::lane_stops: program.stopped_until = now_ + fault.lasts; return;
    case FaultKind::other_region_goes:
    case FaultKind::driver_changes: return program.intend(fault);
    case FaultKind::lane_dies:
      if (program.dead) return;
      if (program.dies_inside || draw_.chance(0.3)) return kill(program);
      program.dies_inside = true;  // as soon as it does something; or soon, if it does not
      faults_.push_back(fault);
      faults_.back().step = 0;
      faults_.back().at = now_ + microseconds(100);
      return;
    default: return programs_[ledger_.connections[fault.connection].sides[fault.side].lane]->intend(fault);
  }
}

// Whatever it was doing, it does not go on; the kernel closes what it had.
void Scene::kill(Program& program) {
  note(program.index(), "is dead", {});
  program.dead = true;
  program.lane().abandon();
  for (const auto& actor : actors_.all()) {
    if (actor->lane == program.index() && !actor->is_over()) actors_.resume(*actor);
  }
  for (Connection& c : ledger_.connections) {
    for (std::size_t s = 0; s < 2; ++s) {
      if (c.sides[s].lane == program.index()) c.sides[1 - s].may_lose_peer = true;
    }
  }
}

// ---- the end

Outcome Scene::run() {
  Outcome outcome;
  play(kLimit, [this] { return rounds_ == Program::kRounds; });
  faults_ = spec_.faults;
  for (FaultSpec& fault : faults_) fault.at += now_;
  began_ = met_.steps;
  play(kLimit, [this] { return all_done(); });
  outcome.steps = met_.steps - began_;
  if (violations_.empty() && !all_done()) violation("something was never done");
  play(now_ + kEpilogue, [] { return false; });
  judge(outcome);
  return outcome;
}

void Scene::judge(Outcome& outcome) {
  for (const Connection& c : ledger_.connections) {
    for (const Side& side : c.sides) {
      for (const Message& m : side.out) {
        ++met_.messages;
        met_.failed_messages += m.is_settled() ? 0 : 1;
        if (!m.is_settled()) {
          if (!c.may_fail()) violation("a message has not arrived");
          continue;
        }
        if (const std::string wrong = programs_[0]->look_at(m); !wrong.empty()) violation("in the end, " + wrong);
      }
    }
  }
  for (const auto& program : programs_) {
    const nic::Counters& counters = program->lane().device().card().counters;
    for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
      const auto counter = static_cast<nic::Counter>(i);
      outcome.counters.add(counter, counters.get(counter));
      if (counters.get(counter) != 0) note(program->index(), nic::kCounterNames[i], {counters.get(counter)});
    }
    met_.payloads_gone += counters.get(Refusal::payload_gone);
  }
  met_.datagrams = network_.datagrams();
  met_.returns = joined_ - programs_.size();
  if (spec_.is_calm()) judge_calm(outcome.counters);
  outcome.violations = violations_;
  outcome.met = met_;
  outcome.digest = trace_.value();
}

void Scene::judge_calm(const nic::Counters& counters) {
  using enum nic::Counter;
  if (network_.overflows() != 0) violation("without a fault, datagrams find no room in a socket");
  if (network_.lost() != 0) violation("without a fault, datagrams find nobody");
  // A sender whose peer has no receive posted sends again, too; and datagrams without payload leave after others
  // (udp/udp_sender.h), so that they seem to be lost at first.
  if (counters.get(rcvd_rnr_err) != 0 || network_.datagrams() != 0) return;
  for (const nic::Counter c : {retransmitted_pkts, local_ack_timeout_err}) {
    if (counters.get(c) == 0) continue;
    violation(fmt::format("without a fault, {} {}", counters.get(c), nic::kCounterNames[static_cast<std::size_t>(c)]));
  }
}

Outcome run(const SceneSpec& spec, std::ostream* sink) { return Scene(spec, sink).run(); }

}  // namespace weft::scene
