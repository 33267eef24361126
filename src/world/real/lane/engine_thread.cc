// The lane's thread: it drives when the program does not, and sleeps when there is nothing to do.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <tl/expected.hpp>

#include "world/real/broker/gsi.h"
#include "world/real/lane/engine.h"
#include "world/real/lane/stats.h"
#include "world/real/lane/thread_policy.h"
#include "world/real/os/clock.h"
#include "world/real/os/events.h"
#include "world/real/os/preemption.h"
#include "world/real/os/time.h"

namespace weft::real {

bool Lane::Engine::start_thread() {
  watched_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!watched_ || !watch(watched_.get(), kick_.get()) || !watch(watched_.get(), broker_.fd())) return false;
  if (thread_.start([this] { run(); })) return true;
  watched_.reset();
  return false;
}

Lane::Engine::~Engine() {
  forget_to_print(*this);
  if (thread_.joinable()) {
    {
      const Guard guard(lock_);
      stopping_ = true;
      kick();
    }
    thread_.join();
    print_stats();
  }
  port_.revoke_all();  // the program goes on, perhaps, and its memory is its own again
  device_.set_exporter(nullptr);
}

void Lane::Engine::kick() { (void)eventfd_write(kick_.get(), 1); }

void Lane::Engine::run() {
  Guard guard(lock_);
  while (!stopping_) {
    policy_.program_drives() ? tick(guard) : drive(guard);
    hear_broker(guard);
  }
}

// While the program drives, nobody wants to be woken for packets; and a socket that is watched costs whoever sends to
// it a look at the watcher.
void Lane::Engine::listen_to_port(bool on) {
  const bool known = std::exchange(lines_known_, port_.lines_taken()) == port_.lines_taken();
  if (std::exchange(listens_, on) == on && (known || !on)) return;
  const auto change = [&](int fd) {
    if (on) {
      (void)watch(watched_.get(), fd);
    } else {
      epoll_ctl(watched_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }
  };
  change(wake_.get());
  for (const int socket : port_.sockets()) change(socket);
}

// The program drives. If it neither polls nor posts any more, we take over. Until then it is left alone: whoever waits
// for the lock has the program call the kernel each time that it gives it back.
void Lane::Engine::tick(Guard& guard) {
  listen_to_port(false);
  guard.unlock();
  epoll_event event{};
  int told = 0;
  bool at_work = true;
  policy_.begin_ticks();
  do {
    told = wait_for_events(watched_.get(), {&event, 1}, policy_.next_tick(clock_now()));
    if (told != 0) break;
    const DrivePolicy::Tick now = policy_.on_tick();
    at_work = now.at_work;
    if (now.help && guard.try_lock()) {
      progress(clock_.now(), Answers::no);
      guard.unlock();
    }
  } while (at_work && !broker_return_.is_away());  // between two tries to come back to a broker we look at the clock
  if (told > 0 && event.data.fd == kick_.get()) drain(kick_.get());
  guard.lock();
  if (!at_work) (void)policy_.take_from_program(clock_.now());
}

// Until nothing more comes, and then sleeps; or until it is time to hear the broker.
void Lane::Engine::drive(Guard& guard) {
  const Time began = clock_.now();
  const bool wary = policy_.is_wary(began);
  ThreadShift shift(began, wary);
  while (shift.goes_on(clock_.now(), port_.has_exported())) {
    while (!leaves_the_rest() && found_packets(wary ? Answers::to_anything : Answers::no)) {
      const Time now = clock_.now();
      policy_.heard(now);
      if (!shift.heard(now)) break;
    }
    if (leaves_the_rest()) return wait_for_program(guard);
    const ThreadShift::Pause pause = shift.pause();
    guard.unlock();  // whoever waits for it may have it
    if (pause == ThreadShift::Pause::yields) yield_processor();
    guard.lock();
    if (stopping_ || policy_.program_drives() || shift.hears_broker()) return;
    if (pause == ThreadShift::Pause::sleeps) break;
  }
  sleep(guard, ThreadShift::sleeps_until(clock_.now(), next_deadline(), card_.has_work()));
}

bool Lane::Engine::leaves_the_rest() { return policy_.leaves_the_rest(device_.card().receives_low, clock_.now()); }

// What is late and what is owed leaves. Nothing is taken in until the program polls, or the policy says so.
void Lane::Engine::wait_for_program(Guard& guard) {
  const Time now = clock_.now();
  set_now(now);
  if (now >= next_deadline()) on_time(now);
  if (card_.has_work()) transmit(now);
  listen_to_port(false);
  guard.unlock();
  epoll_event event{};
  const int told = wait_for_events(watched_.get(), {&event, 1}, DrivePolicy::kTick);
  if (told > 0 && event.data.fd == kick_.get()) drain(kick_.get());
  guard.lock();
}

bool Lane::Engine::found_packets(Answers answers) {
  const std::uint64_t before = device_.card().counters.get(nic::Counter::rcvd_pkts);
  progress(clock_.now(), answers);
  return device_.card().counters.get(nic::Counter::rcvd_pkts) != before;
}

void Lane::Engine::sleep(Guard& guard, Time until) {
  listen_to_port(true);
  shared_status_->asleep.store(1, std::memory_order_relaxed);
  // Against a local peer's (port/local_peer.h): we see its record, or it sees us asleep.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  may_be_preempted();
  if (port_.rings_empty()) {
    sleeping_ = true;
    wakes_at_ = until;
    guard.unlock();
    std::array<epoll_event, 4> events{};
    const Time wait = until == kNever ? kNever : std::max<Time>(until - clock_now(), 0);
    const int n = wait_for_events(watched_.get(), events, wait);
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == kick_.get() || fd == wake_.get()) drain(fd);
    }
    guard.lock();
    sleeping_ = false;
    wakes_at_ = kNever;
  }
  shared_status_->asleep.store(0, std::memory_order_relaxed);
}

void Lane::Engine::hear_broker(Guard& guard) {
  set_now(nic::kAsk);
  while (auto in = broker_.hear()) {
    switch (in->message.topic) {
      case Topic::met: on_met(*in); break;
      case Topic::consulted: on_consulted(in->message); break;
      case Topic::asked: answer(*in); break;
      case Topic::playing:
        if (const auto heard = on_playing(std::move(*in)); !heard) fmt::print(stderr, "weft: {}\n", heard.error().what);
        break;
      case Topic::datagram: on_datagram(*in, guard); break;
      default: break;
    }
  }
  if (port_.holds_unsent()) port_.flush();
  if (!broker_return_.is_away() && broker_.over()) lose_broker();
  if (clock_now() >= broker_return_.next_try()) come_back(guard);
}

void Lane::Engine::on_datagram(const Incoming& in, Guard& guard) {
  const wire::Flow& flow = in.message.flow;
  if (wire::is_mixed(flow)) return card_.on_refused(Refusal::bad_ip_header);
  const auto bytes = std::as_bytes(std::span(in.text.data(), in.text.size()));
  std::span<const std::byte> mad;
  if (parse_gsi(flow, bytes, mad) != Refusal::none) {
    take(flow, bytes, {});  // a packet that was steered to another program
    settle();
    return;
  }
  if (heard_about_dialect(flow, mad)) return;
  guard.unlock();
  owner_.on_mad(flow.source, flow.destination, mad);
  guard.lock();
}

// Somebody has killed it. What runs goes on; its lanes start another and come back to it.
void Lane::Engine::lose_broker() {
  epoll_ctl(watched_.get(), EPOLL_CTL_DEL, broker_.fd(), nullptr);
  broker_.hang_up();  // to call another takes a descriptor, and there may be no other
  broker_return_.lost(clock_now());
}

void Lane::Engine::come_back(Guard& guard) {
  guard.unlock();
  const bool there = BrokerClient::is_there();
  guard.lock();
  tl::expected<BrokerClient::Joined, Trouble> joined = tl::unexpected(Trouble{ECONNREFUSED, "there is no broker"});
  if (there) {
    receive();  // what is in the sockets and rings already
    listen_to_port(false);
    port_.close_sockets();
    guard.unlock();
    joined = broker_.join(self());
    guard.lock();
  }
  if (!joined && joined.error().code == EAGAIN) return broker_return_.must_wait_for_others(clock_now());
  if (!joined) return broker_return_.failed(clock_now());
  receive();
  port_.renew(std::move(*joined));
  (void)watch(watched_.get(), broker_.fd());
  broker_return_.came_back();
}

void Lane::Engine::answer(const Incoming& question) {
  const std::string text = report(question.text);
  Message m(Topic::answer);
  m.ticket = question.message.ticket;
  for (std::size_t at = 0; at <= text.size(); at += kMaxText) {
    m.code = at + kMaxText <= text.size() ? EAGAIN : 0;  // more follows
    broker_.say(m, std::string_view(text).substr(at, kMaxText));
  }
}

}  // namespace weft::real
