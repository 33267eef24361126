#include "world/real/broker/broker_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/real/broker/broker_place.h"
#include "world/real/os/clock.h"
#include "world/real/os/lane_thread.h"
#include "world/real/os/processes.h"
#include "world/real/os/time.h"

namespace weft::real {
namespace {

constexpr std::size_t kMostKept = 1024;
constexpr int kMoment = 1000, kGlance = 50;  // milliseconds: for an answer while packets wait
constexpr Time kStartWithin = seconds(10), kStartAgain = milliseconds(200);
constexpr Time kEndWithin = milliseconds(500);  // programs whose broker was killed, if they end, too

// The broker is no child of the program's: a program that waits for its children must not find one it does not know.
// Whoever becomes another program is a child like any other again, and tells of its end with SIGCHLD. So the one that
// does is the child of a go-between, which ends at once, without a signal; clone() can be told so, and fork() cannot.
constexpr std::size_t kStack = 64 * 1024;
struct Start {
  const char* program;
  char* const* environment;
  std::array<std::vector<char>, 2> stacks{std::vector<char>(kStack), std::vector<char>(kStack)};

  [[nodiscard]] void* stack(std::size_t of) { return stacks[of].data() + (kStack & ~std::size_t{63}) - 64; }
};

// ThreadSanitizer takes every clone() for a fork(), and notes in the child that nothing is to be looked at any more. In
// memory that the two share, that would be the parent's note.
#if defined(__SANITIZE_THREAD__)
constexpr int kShares = 0;
#else
constexpr int kShares = CLONE_VM | CLONE_VFORK;
#endif

constexpr int kFailed = 127;

// How it ended, as its exit code. Not waitpid(): a thread may be cancelled in there. One whose end was told to nobody,
// because the program ignores SIGCHLD, has ended well as far as we know.
int wait_for(int child) {
  int status = 0;
  while (syscall(SYS_wait4, child, &status, __WALL, nullptr) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

int become_broker(void* argument) {
  const auto* start = static_cast<const Start*>(argument);
  const char* arguments[] = {start->program, nullptr};
  execve(start->program, const_cast<char* const*>(arguments), start->environment);
  _exit(kFailed);
}

int go_between(void* argument) {
  auto* start = static_cast<Start*>(argument);
  const int child = clone(become_broker, start->stack(1), kShares, start);
  _exit(child < 0 ? kFailed : wait_for(child));
}

bool start_broker(const std::string& program) {
  // The program's own preloads and library paths are not the broker's.
  std::array<char*, 1> environment{nullptr};
  Start start{.program = program.c_str(), .environment = environment.data()};
  // A signal would find the program's handler, in the program's memory, in another process.
  sigset_t every{}, before{};
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  const int child = clone(go_between, start.stack(0), kShares, &start);
  const bool started = child >= 0 && wait_for(child) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

tl::expected<void, Trouble> start_one() {
  if (const auto folder = broker_folder(); !folder) return tl::unexpected(folder.error());
  const std::string program = broker_program();
  if (program.empty()) {
    return tl::unexpected(Trouble{ENOENT, "cannot find the program weft-broker: set WEFT_BROKER to its path"});
  }
  if (!start_broker(program)) {
    return tl::unexpected(Trouble{ENOEXEC, fmt::format("cannot start the broker {}", program)});
  }
  return {};
}

tl::expected<Conversation, Trouble> reach_broker() {
  const Time until = clock_now() + kStartWithin;
  Time started = 0;
  for (Time pause = microseconds(200);; pause = std::min(2 * pause, milliseconds(20))) {
    auto conversation = find_broker();
    if (conversation || conversation.error().code != ECONNREFUSED) return conversation;
    // Again after a while: the one we started may have found an old one that was just about to leave.
    if (started == 0 || clock_now() - started > kStartAgain) {
      if (const auto good = start_one(); !good) return tl::unexpected(good.error());
      started = clock_now();
    }
    if (clock_now() > until) {
      return tl::unexpected(Trouble{ETIMEDOUT, fmt::format("{} was started, and listens nowhere", broker_program())});
    }
    doze(pause);
  }
}

Trouble silence(const Conversation& conversation) {
  return {ETIMEDOUT, fmt::format("the broker ({}) has not answered for {} s: is it stopped, or has it too many "
                                 "files open?",
                                 text_of_other(conversation.fd()), kAnswerWithin / 1000)};
}

// As much of a text as there is room for, and no part of a character of UTF-8: these are of four bytes at most.
std::string_view cut(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text;
  const auto goes_on = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  std::size_t end = room;
  while (end > 0 && room - end < 3 && goes_on(end)) --end;
  return text.substr(0, end);
}

Message greeting(const BrokerClient::Self& self) {
  Message m(Topic::hello);
  m.code = self.lane_number;
  m.hello.process = own_process();
  m.hello.versions = self.versions;
  m.hello.roles = self.roles;
  const char* const name = program_invocation_short_name;
  const std::string_view fits = cut(name != nullptr ? name : "?", m.hello.name.size() - 1);
  std::copy(fits.begin(), fits.end(), m.hello.name.begin());
  m.hello.address_count = static_cast<std::uint32_t>(self.addresses.size());
  for (std::size_t i = 0; i < self.addresses.size(); ++i) m.hello.addresses[i] = self.addresses[i];
  return m;
}

// Whether to wait for an address that one cannot have now, as the broker says. Who comes back does not wait here: it
// has data to carry meanwhile.
bool is_free_soon(int code, Time asked_first) {
  const Time patience = code == EADDRINUSE ? kEndWithin : code == EAGAIN ? kComeBackWithin : 0;
  return patience != 0 && clock_now() - asked_first < patience;
}

// Does this introduce the lane that was asked for, whichever side asked? That it has left (no descriptors) is news, and
// no answer.
bool is_introduction(const Incoming& in, const Message& question) {
  const bool tells = in.message.code != 0 || !in.descriptors.empty();
  return tells && in.message.local_peer.lane_number == question.local_peer.lane_number;
}

// An answer may be that to an earlier call which was not waited for.
bool is_answer(const Incoming& in, const Message& question, Topic topic) {
  if (in.message.topic != topic) return false;
  if (topic == Topic::met) return is_introduction(in, question);
  if (topic != Topic::consulted) return true;
  const LocalPeerInfo &about = in.message.local_peer, &asked = question.local_peer;
  return about.lane_number == asked.lane_number && about.address == asked.address;
}

bool is_arrival(const Incoming& in) {
  return in.message.topic == Topic::met && in.message.local_peer.address_count > 0;
}

bool is_end_of(const Incoming& in, std::uint32_t lane_number) {
  const bool gone = in.message.topic == Topic::met && in.message.code == 0 && in.descriptors.empty();
  return gone && in.message.local_peer.lane_number == lane_number;
}

}  // namespace

std::string broker_program() {
  // Whoever starts a setuid program must not choose what it starts in turn.
  if (const char* named = ::secure_getenv("WEFT_BROKER"); named != nullptr && *named != '\0') return named;
  Dl_info where{};
  if (dladdr(static_cast<const void*>(&kStartWithin), &where) == 0 || where.dli_fname == nullptr) return {};
  const std::string library = where.dli_fname;
  const std::string folder = library.substr(0, library.rfind('/') + 1);
  for (const char* beside : {"../../bin/weft-broker", "../bin/weft-broker", "weft-broker"}) {
    if (const std::string path = folder + beside; access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

bool BrokerClient::is_there() { return reach_broker().has_value(); }

tl::expected<BrokerClient::Joined, Trouble> BrokerClient::join(const Self& self) {
  const Time began = clock_now();
  // A broker may be about to leave just as we call: then there is no answer, and the next try starts another.
  for (int tries = 0; tries < 5; ++tries) {
    auto conversation = reach_broker();
    if (!conversation) return tl::unexpected(conversation.error());
    if (!conversation->say(greeting(self), {}, std::array{self.shared_status, self.wake})) continue;
    auto in = conversation->wait(kAnswerWithin);
    if (!in && !conversation->over()) return tl::unexpected(silence(*conversation));
    if (!in) continue;
    if (in->message.topic != Topic::welcome)
      return tl::unexpected(Trouble{EPROTO, "the broker speaks another language"});
    if (self.lane_number == 0 && is_free_soon(in->message.code, began)) {
      doze(kLookAgain);
      --tries;
      continue;
    }
    if (in->message.code != 0) return tl::unexpected(Trouble{in->message.code, in->text});
    if (in->lacks_descriptors) return tl::unexpected(Trouble{EMFILE, "too many open files"});
    const std::size_t sockets = (self.roles.any() ? wire::kUdpPorts : 1) * self.addresses.size();
    if (in->descriptors.size() < sockets) return tl::unexpected(Trouble{EPROTO, "the broker gave too few sockets"});
    const auto lane_number = static_cast<std::uint8_t>(in->message.lane_number);
    if (self.lane_number != 0 && lane_number != self.lane_number)
      return tl::unexpected(Trouble{EPROTO, "the broker gave another lane number"});
    const std::lock_guard guard(lock_);
    if (!claim_ports(*conversation)) continue;
    conversation_ = std::move(*conversation);
    silent_ = false;
    // One that comes back has its lock still.
    if (in->descriptors.size() > sockets) number_lock_ = std::move(in->descriptors.back());
    in->descriptors.resize(sockets);
    return Joined{lane_number, std::move(in->descriptors)};
  }
  return tl::unexpected(Trouble{ECONNRESET, "the broker ends each time it is asked"});
}

void BrokerClient::leave() {
  const std::lock_guard guard(lock_);
  conversation_ = {};
  number_lock_.reset();
  kept_.clear();
}

void BrokerClient::hang_up() {
  const std::lock_guard guard(lock_);
  conversation_ = {};
}

// What the last broker knew of our ports. One that somebody else has taken meanwhile is theirs.
bool BrokerClient::claim_ports(Conversation& conversation) {
  for (const BoundPort& port : ports_) {
    Message bind(Topic::bind);
    bind.service = port;
    if (!conversation.say(bind) || !conversation.wait(kAnswerWithin)) return false;
    Message listen(Topic::listen);
    listen.service = port;
    if (port.on != 0 && !conversation.say(listen)) return false;
  }
  return true;
}

void BrokerClient::remember(const Message& said) {
  const auto same = [&](const BoundPort& s) {
    return s.space == said.service.space && s.port == said.service.port && s.address == said.service.address;
  };
  if (said.topic == Topic::bound && said.code == 0) {
    ports_.push_back(said.service);
  } else if (said.topic == Topic::listen) {
    for (BoundPort& s : ports_) s.on = same(s) ? said.service.on : s.on;
  } else if (said.topic == Topic::release) {
    const auto found = std::find_if(ports_.begin(), ports_.end(), same);
    if (found != ports_.end()) ports_.erase(found);
  }
}

void BrokerClient::set_bell(int eventfd) {
  const std::lock_guard guard(lock_);
  bell_ = eventfd;
}

// One thread at a time talks with the broker. Another one that hears the bell, because something was kept meanwhile,
// finds the conversation in use and goes to sleep again; so the bell is rung once more when it is free.
class BrokerClient::Turn {
 public:
  explicit Turn(BrokerClient& client) : client_(client), guard_(client.lock_) {}
  Turn(BrokerClient& client, std::try_to_lock_t) : client_(client), guard_(client.lock_, std::try_to_lock) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!guard_) return;
    const int bell = client_.kept_.empty() ? -1 : client_.bell_;
    guard_.unlock();
    if (bell >= 0) (void)eventfd_write(bell, 1);
  }
  explicit operator bool() const { return guard_.owns_lock(); }

 private:
  BrokerClient& client_;
  std::unique_lock<std::mutex> guard_;
};

void BrokerClient::keep(Incoming in) {
  if (in.message.topic == Topic::datagram && kept_.size() >= kMostKept) return;  // packets may be lost, news may not
  kept_.push_back(std::move(in));
  if (bell_ >= 0) (void)eventfd_write(bell_, 1);
}

bool BrokerClient::has_kept_end_of(std::uint32_t lane_number) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Incoming& in) { return is_end_of(in, lane_number); });
}

std::optional<Incoming> BrokerClient::call(const Message& question, Topic answer) {
  const Turn turn(*this);
  if (!conversation_ || !conversation_.say(question)) return std::nullopt;
  return answer_to(question, answer, kAnswerWithin);
}

std::optional<Incoming> BrokerClient::call_in_passing(const Message& question, Topic answer) {
  const Turn turn(*this, std::try_to_lock);
  if (!turn || !conversation_ || !conversation_.say_at_once(question, {}) || silent_) return std::nullopt;
  return answer_to(question, answer, kMoment);
}

std::optional<Incoming> BrokerClient::call_at_a_glance(const Message& question, Topic answer) {
  const Turn turn(*this, std::try_to_lock);
  if (!turn || !conversation_ || !conversation_.say_at_once(question, {}) || silent_) return std::nullopt;
  return answer_to(question, answer, kGlance);
}

std::optional<Incoming> BrokerClient::answer_to(const Message& question, Topic answer, int milliseconds) {
  const Time until = clock_now() + real::milliseconds(milliseconds);
  for (Time left = until - clock_now(); left > 0; left = until - clock_now()) {
    auto in = conversation_.wait(static_cast<int>(left / real::milliseconds(1)) + 1);
    if (!in) {
      if (conversation_.over()) return std::nullopt;
      continue;
    }
    silent_ = false;
    if (is_answer(*in, question, answer)) {
      // A lane number's new owner is not met before the end of the last one has been heard: that would end the new one.
      if (answer == Topic::met && !in->descriptors.empty() && has_kept_end_of(question.local_peer.lane_number)) {
        keep(std::move(*in));
        return std::nullopt;
      }
      remember(in->message);
      return in;
    }
    keep(std::move(*in));
  }
  silent_ = true;
  return std::nullopt;
}

void BrokerClient::say(const Message& message, std::string_view text) {
  const Turn turn(*this);
  remember(message);
  if (conversation_) (void)conversation_.say(message, text);
}

bool BrokerClient::say_at_once(const Message& message, std::string_view text) {
  const Turn turn(*this, std::try_to_lock);  // another thread may be waiting for an answer
  return turn && conversation_ && conversation_.say_at_once(message, text);
}

std::optional<Incoming> BrokerClient::hear() {
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard) return std::nullopt;
  if (!kept_.empty()) {
    Incoming in = std::move(kept_.front());
    kept_.pop_front();
    return in;
  }
  if (!conversation_) return std::nullopt;
  auto in = conversation_.hear();
  if (in) silent_ = false;
  return in;
}

template <class Predicate>
std::optional<Incoming> BrokerClient::hear_first(Predicate&& is_it) {
  if (const auto first = std::find_if(kept_.begin(), kept_.end(), is_it); first != kept_.end()) {
    Incoming in = std::move(*first);
    kept_.erase(first);
    return in;
  }
  while (conversation_) {
    auto in = conversation_.hear();
    if (in) silent_ = false;
    if (!in || is_it(*in)) return in;
    keep(std::move(*in));
  }
  return std::nullopt;
}

std::optional<Incoming> BrokerClient::hear_only(Topic topic) {
  const Turn turn(*this, std::try_to_lock);
  if (!turn) return std::nullopt;
  return hear_first([&](const Incoming& in) { return in.message.topic == topic; });
}

std::optional<Incoming> BrokerClient::hear_introduction() {
  const Turn turn(*this, std::try_to_lock);
  if (!turn) return std::nullopt;
  // A lane number's new owner is not met before the end of the last one has been heard.
  return hear_first(
      [&](const Incoming& in) { return is_arrival(in) && !has_kept_end_of(in.message.local_peer.lane_number); });
}

bool BrokerClient::over() {
  const Turn turn(*this, std::try_to_lock);
  return turn && conversation_.over();
}

}  // namespace weft::real
