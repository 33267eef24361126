#include "cli/demo/shared.h"

#include <array>
#include <utility>

#include "cli/demo/pattern.h"

namespace weft::cli {
namespace {

constexpr std::uint32_t kLongestShared = 4096;
constexpr std::uint32_t kSharedSlots = 16, kRefillBelow = 6;
constexpr std::size_t kBurst = 4;
constexpr int kBursts = 30;

}  // namespace

// ---- the inbox ------------------------------------------------------------------------------------------------------

SharedInbox::SharedInbox(Stage stage, DemoStation& station)
    : stage_(stage),
      station_(station),
      memory_(station.domain, std::size_t{kSharedSlots} * kLongestShared),
      queue_(must(station.domain.create_shared_receive_queue({.entries = kSharedSlots}))) {
  for (std::uint64_t slot = 0; slot < kSharedSlots; ++slot) free_.push_back(slot);
  fill_up();
}

std::span<std::byte> SharedInbox::slot(std::uint64_t number, std::size_t length) {
  return memory_.at(number * kLongestShared, length);
}

void SharedInbox::fill_up() {
  for (const std::uint64_t slot : std::exchange(free_, {})) {
    must(queue_.post_receive({.id = slot, .local = memory_.region().sge(slot * kLongestShared, kLongestShared)}));
  }
  must(queue_.set_limit(kRefillBelow));
}

Task<> SharedInbox::keep() {
  for (;;) {
    const Event event = co_await stage_.sim.event(station_.device);
    if (event.kind != Event::srq_limit_reached) continue;
    // What was taken is still being read: a moment later there is something to fill up with.
    while (free_.size() < kRefillBelow) co_await stage_.sim.sleep(Duration::microseconds(2));
    fill_up();
  }
}

// ---- a connection to it ---------------------------------------------------------------------------------------------

SharedLane::SharedLane(Stage stage, DemoStation& from, DemoStation& to, SharedInbox& inbox, std::uint64_t number)
    : stage_(stage),
      number_(scramble(stage.seed) + number),
      inbox_(inbox),
      from_(from, Service::rc, kBurst * kLongestShared),
      to_(to, Service::rc, 1, &inbox.queue()) {
  must(connect(from_.qp, to_.qp, kConnect));
}

Task<> SharedLane::run() {
  for (int i = 0; i < kBursts; ++i) {
    if (!co_await burst()) co_return;
  }
}

// A few messages at once; they come out at the other end in order, each in whichever slot was next.
Task<bool> SharedLane::burst() {
  DemoTally& tally = stage_.board[Row::send_shared];
  std::array<std::uint32_t, kBurst> lengths{};
  std::array<std::uint64_t, kBurst> patterns{};
  const Duration posted = stage_.sim.now();
  for (std::size_t i = 0; i < kBurst; ++i) {
    Draw draw(number_ + sent_++);
    lengths[i] = draw.length(kLongestShared);
    patterns[i] = draw.next();
    fill(from_.memory.at(i * kLongestShared, lengths[i]), patterns[i]);
    must(from_.qp.post({.id = i, .local = from_.memory.region().sge(i * kLongestShared, lengths[i])}));
    ++tally.messages;
    tally.bytes += lengths[i];
  }
  for (std::size_t i = 0; i < kBurst; ++i) {
    const Completion done = co_await stage_.sim.completion(from_.send_cq);
    if (!done.ok()) {
      stage_.board.failed(Row::send_shared, done);
      co_return false;
    }
    ++tally.completed;
    tally.note_latency(done.when - posted);
    const Completion got = co_await stage_.sim.completion(to_.receive_cq);
    stage_.board.judge(Row::send_shared, done.id == i && got.ok() && got.bytes == lengths[i] &&
                                             matches(inbox_.slot(got.id, lengths[i]), patterns[i]));
    inbox_.give_back(got.id);
  }
  co_return true;
}

}  // namespace weft::cli
