#include "cli/demo/reliable.h"

#include <cstring>

namespace weft::cli {
namespace {

// An end's memory: what it sends, what comes to it, what it reads, and a word for atomics.
constexpr std::uint32_t kLongest = 64 * 1024;
constexpr std::uint64_t kOut = 0, kIn = kLongest, kRead = 2 * kLongest, kWord = 3 * kLongest, kMemory = kWord + 8;
constexpr int kRounds = 50;

std::uint64_t word_at(DemoEnd& end, std::uint64_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, end.memory.at(offset, 8).data(), 8);
  return word;
}
void set_word(DemoEnd& end, std::uint64_t offset, std::uint64_t word) {
  std::memcpy(end.memory.at(offset, 8).data(), &word, 8);
}

void clear(std::span<std::byte> bytes) { std::memset(bytes.data(), 0, bytes.size()); }

}  // namespace

ReliablePair::ReliablePair(Stage stage, DemoStation& a, DemoStation& b, std::uint64_t number)
    : stage_(stage),
      draw_(scramble(stage.seed) + number),
      a_(a, Service::rc, kMemory),
      b_(b, Service::rc, kMemory),
      a_one_(must(a.domain.create_window(WindowType::one))),
      a_two_(must(a.domain.create_window(WindowType::two))),
      b_one_(must(b.domain.create_window(WindowType::one))),
      b_two_(must(b.domain.create_window(WindowType::two))) {
  must(connect(a_.qp, b_.qp, kConnect));
}

Task<> ReliablePair::run() {
  for (int i = 0; i < kRounds; ++i) {
    const bool forth = co_await round(a_, b_);
    const bool back = forth && co_await round(b_, a_);
    if (!back) co_return;
  }
}

Task<bool> ReliablePair::round(DemoEnd& from, DemoEnd& to) {
  const WorkRequest send_plain{.verb = Verb::send};
  const WorkRequest send_immediate{.verb = Verb::send_immediate, .immediate = static_cast<std::uint32_t>(draw_.next())};
  const WorkRequest write_plain{.verb = Verb::write, .remote = to.memory.region().remote(kIn)};
  const WorkRequest write_immediate{.verb = Verb::write_immediate,
                                    .remote = to.memory.region().remote(kIn),
                                    .immediate = static_cast<std::uint32_t>(draw_.next())};
  if (!co_await send(Row::send, from, to, send_plain)) co_return false;
  if (!co_await send(Row::send_immediate, from, to, send_immediate)) co_return false;
  if (!co_await write(Row::write, from, to, write_plain)) co_return false;
  if (!co_await write(Row::write_immediate, from, to, write_immediate)) co_return false;
  if (!co_await read(from, to)) co_return false;
  if (!co_await compare_swap(from, to)) co_return false;
  if (!co_await fetch_add(from, to)) co_return false;
  if (!co_await window_one(from, to)) co_return false;
  co_return co_await window_two(from, to);
}

// The receive must say what was sent, and hold it.
Task<bool> ReliablePair::send(Row row, DemoEnd& from, DemoEnd& to, WorkRequest work) {
  const std::uint32_t length = draw_.length(kLongest);
  const std::uint64_t pattern = draw_.next();
  fill(from.memory.at(kOut, length), pattern);
  clear(to.memory.at(kIn, length));
  must(to.qp.post_receive({.id = pattern, .local = to.memory.region().sge(kIn, kLongest)}));
  work.local = from.memory.region().sge(kOut, length);
  if (!co_await carry_out(stage_, row, from, work, length)) co_return false;

  const Completion got = co_await stage_.sim.completion(to.receive_cq);
  const bool immediate = work.verb == Verb::send_immediate, invalidate = work.verb == Verb::send_invalidate;
  stage_.board.judge(
      row, got.ok() && got.id == pattern && got.bytes == length && got.immediate.has_value() == immediate &&
               (!immediate || *got.immediate == work.immediate) && got.invalidated.has_value() == invalidate &&
               (!invalidate || *got.invalidated == work.invalidate) && matches(to.memory.at(kIn, length), pattern));
  co_return true;
}

// The peer's memory must hold it; with an immediate, the peer must have been told.
Task<bool> ReliablePair::write(Row row, DemoEnd& from, DemoEnd& to, WorkRequest work) {
  const std::uint32_t length = draw_.length(kLongest);
  const std::uint64_t pattern = draw_.next();
  fill(from.memory.at(kOut, length), pattern);
  clear(to.memory.at(kIn, length));
  const bool told = work.verb == Verb::write_immediate;
  if (told) must(to.qp.post_receive({.id = pattern}));
  work.local = from.memory.region().sge(kOut, length);
  if (!co_await carry_out(stage_, row, from, work, length)) co_return false;

  bool right = matches(to.memory.at(kIn, length), pattern);
  if (told) {
    const Completion got = co_await stage_.sim.completion(to.receive_cq);
    right = right && got.ok() && got.id == pattern && got.immediate == work.immediate;
  }
  stage_.board.judge(row, right);
  co_return true;
}

Task<bool> ReliablePair::read(DemoEnd& from, DemoEnd& to) {
  const std::uint32_t length = draw_.length(kLongest);
  const std::uint64_t pattern = draw_.next();
  fill(to.memory.at(kIn, length), pattern);
  clear(from.memory.at(kRead, length));
  const WorkRequest work{
      .verb = Verb::read, .local = from.memory.region().sge(kRead, length), .remote = to.memory.region().remote(kIn)};
  if (!co_await carry_out(stage_, Row::read, from, work, length)) co_return false;
  stage_.board.judge(Row::read, matches(from.memory.at(kRead, length), pattern));
  co_return true;
}

// Half of them find what they compare with and swap; the others must leave the word alone.
Task<bool> ReliablePair::compare_swap(DemoEnd& from, DemoEnd& to) {
  const std::uint64_t before = draw_.next(), swap = draw_.next();
  const bool swaps = draw_.next() % 2 == 0;
  set_word(to, kWord, before);
  const WorkRequest work{.verb = Verb::compare_swap,
                         .local = from.memory.region().sge(kRead, 8),
                         .remote = to.memory.region().remote(kWord),
                         .compare = swaps ? before : ~before,
                         .swap = swap};
  if (!co_await carry_out(stage_, Row::compare_swap, from, work, 8)) co_return false;
  stage_.board.judge(Row::compare_swap,
                     word_at(from, kRead) == before && word_at(to, kWord) == (swaps ? swap : before));
  co_return true;
}

Task<bool> ReliablePair::fetch_add(DemoEnd& from, DemoEnd& to) {
  const std::uint64_t before = draw_.next(), add = draw_.next();
  set_word(to, kWord, before);
  const WorkRequest work{.verb = Verb::fetch_add,
                         .local = from.memory.region().sge(kRead, 8),
                         .remote = to.memory.region().remote(kWord),
                         .add = add};
  if (!co_await carry_out(stage_, Row::fetch_add, from, work, 8)) co_return false;
  stage_.board.judge(Row::fetch_add, word_at(from, kRead) == before && word_at(to, kWord) == before + add);
  co_return true;
}

// Type 1: bound, written through, and bound to nothing.
Task<bool> ReliablePair::window_one(DemoEnd& from, DemoEnd& to) {
  Window& window = &to == &a_ ? a_one_ : b_one_;
  WorkRequest bind{.verb = Verb::bind_window};
  bind.bind = window.onto(to.memory.region(), kIn, kLongest, Access::remote_write);
  if (!co_await carry_out(stage_, Row::bind_one, to, bind, 0)) co_return false;
  stage_.board.judge(Row::bind_one, window.bound() && window.key() == bind.bind.new_key);

  const WorkRequest through{.verb = Verb::write,
                            .remote = {.address = to.memory.region().address() + kIn, .key = window.key()}};
  if (!co_await write(Row::write_window, from, to, through)) co_return false;

  bind.bind = window.onto_nothing();
  if (!co_await carry_out(stage_, Row::bind_one, to, bind, 0)) co_return false;
  stage_.board.judge(Row::bind_one, !window.bound());
  co_return true;
}

// Type 2, with addresses from zero: closed by its owner or, with a message, by the peer.
Task<bool> ReliablePair::window_two(DemoEnd& from, DemoEnd& to) {
  Window& window = &to == &a_ ? a_two_ : b_two_;
  WorkRequest bind{.verb = Verb::bind_window};
  bind.bind = window.onto(to.memory.region(), kIn, kLongest, Access::remote_write | Access::zero_based);
  if (!co_await carry_out(stage_, Row::bind_two, to, bind, 0)) co_return false;
  stage_.board.judge(Row::bind_two, window.bound() && window.key() == bind.bind.new_key);

  const WorkRequest through{.verb = Verb::write, .remote = {.address = 0, .key = window.key()}};
  if (!co_await write(Row::write_window, from, to, through)) co_return false;

  if (draw_.next() % 2 == 0) {
    const WorkRequest close{.verb = Verb::local_invalidate, .invalidate = window.key()};
    if (!co_await carry_out(stage_, Row::local_invalidate, to, close, 0)) co_return false;
    stage_.board.judge(Row::local_invalidate, !window.bound());
  } else {
    const WorkRequest close{.verb = Verb::send_invalidate, .invalidate = window.key()};
    if (!co_await send(Row::send_invalidate, from, to, close)) co_return false;
    if (window.bound()) stage_.board.judge(Row::send_invalidate, false);
  }
  co_return true;
}

}  // namespace weft::cli
