// A running connection moves to another dialect, or to other roles of StaR: one side of that, as a state machine. No
// queue pair, no network and no clock: what happens goes in with the time, what is to be done comes out.
//
//   asker                                        the other side
//   asking     ask ->                            holds its send queue, as in SQD
//              <- drain, or ready at once        draining
//   emptying   holds its send queue, too         ready when nothing of its own is under way: <- ready
//   committing when nothing is under way:
//              commit, with its numbers ->       changes; changed
//              <- done, with its numbers
//   idle       changes, and goes on: confirm ->  idle: goes on
//
// Nothing is under way in either direction when the first side changes, so no operation is lost, and none is repeated:
// work that has not begun waits in the queues, and begins in the new dialect. Until it is told to commit, the other
// side may go back (refuse), and until it commits, the asker may (cancel): both do after some time, and the old dialect
// goes on. From then on it is the other side that decides: the asker says commit until it hears `done` or `refuse`.
// Whoever has changed says `done` until that is confirmed, and begins nothing before. So a side that goes on never
// speaks another dialect than its peer. Each side numbers the moves that it asks for; what is said of an old one
// changes nothing, and whatever is said again changes nothing twice.
//
// If both ask at once, the one that wins ties goes on asking, and the other follows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "wire/move.h"

namespace weft::host {

struct MoveTimes {
  Time look = 0;                   // until it is seen whether anything is still under way, and
  Time first = 0, longest = 0;     //   until something is said again: twice as long each time, but not longer
  Time asking = 0;                 // an asker that hears nothing has given up after this
  Time emptying = 0, holding = 0;  // an asker, and the other side, that is not through has gone back after this
  Time patience = 0;               // the peer is gone if it says nothing for so long when there is no way back
};

class Move {
 public:
  enum class Phase : std::uint8_t { idle, asking, emptying, committing, draining, ready, changed };

  // Its queue pair, just now.
  struct Own {
    bool is_willing = false;  // it could change to what is asked for
    bool is_quiet = false;    // nothing that it began is under way, and nothing more begins if its queue is held
    wire::MoveNumbers numbers{};
  };
  // What is to be done, in this order.
  struct Orders {
    bool holds = false;     // the send queue begins nothing new
    bool changes = false;   // to target(), with what peer_numbers() says
    bool releases = false;  // the send queue goes on
    bool breaks = false;    // the peer is gone, and nobody knows what it speaks
    bool refused = false;   // nothing comes of what was asked for
    std::optional<wire::MoveMad> says{};
  };

  // Generations begin anywhere: what was said of an earlier connection of the same queue pairs is not believed.
  Move(const MoveTimes& times, std::uint32_t generation, bool wins_ties)
      : times_(times), own_(generation), last_done_(generation), wins_ties_(wins_ties) {}

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool is_asker() const {
    return phase_ == Phase::asking || phase_ == Phase::emptying || phase_ == Phase::committing;
  }
  // What the connection changes to; and whether this side has asked for that.
  [[nodiscard]] const wire::MoveTarget& target() const { return target_; }
  [[nodiscard]] bool has_asked() const { return has_asked_; }
  [[nodiscard]] const wire::MoveNumbers& peer_numbers() const { return peer_numbers_; }
  // Of the move: the same at both sides, and no other move of this connection has had it for a long time.
  [[nodiscard]] std::uint32_t generation() const { return has_asked_ ? own_ : peers_; }
  [[nodiscard]] Time next_deadline() const { return next_; }

  // This side wants a move; nothing happens if one is under way.
  [[nodiscard]] Orders begin(Time now, const wire::MoveTarget& target);
  [[nodiscard]] Orders hear(Time now, const Own& own, const wire::MoveMad& m);
  [[nodiscard]] Orders on_time(Time now, const Own& own);

 private:
  using Kind = wire::MoveMad::Kind;
  enum class Known : std::uint8_t { nothing, refused, done, under_way };  // of the peer's last move

  [[nodiscard]] static bool is_older(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
  [[nodiscard]] Orders hear_ask(Time now, const Own& own, const wire::MoveMad& m);
  [[nodiscard]] Orders hear_willing(Time now, const Own& own, const wire::MoveMad& m);
  [[nodiscard]] Orders hear_commit(Time now, const Own& own, const wire::MoveMad& m);
  [[nodiscard]] Orders hear_done(const wire::MoveMad& m);
  [[nodiscard]] Orders hear_end(const wire::MoveMad& m);
  [[nodiscard]] Orders go_on(Time now, const Own& own);
  [[nodiscard]] Orders go_back(Kind says);
  void enter(Phase phase, Time now, Time limit);
  void plan(Time now);
  [[nodiscard]] bool is_held() const { return phase_ != Phase::idle && phase_ != Phase::asking; }
  [[nodiscard]] wire::MoveMad word(Kind kind, std::uint32_t generation) const {
    return {.kind = kind, .target = target_, .numbers = own_numbers_, .generation = generation};
  }

  MoveTimes times_;
  Phase phase_ = Phase::idle;
  std::uint32_t own_, last_done_;  // the last move that we asked for, and the last of them that was made
  std::uint32_t peers_ = 0;        // the last one that the peer did
  Known known_ = Known::nothing;
  bool wins_ties_;
  bool has_asked_ = false;      // the last move, or the one under way, is ours
  bool peer_is_ready_ = false;  // the asker has heard so
  wire::MoveTarget target_{};
  wire::MoveNumbers own_numbers_{}, peer_numbers_{};
  Time look_ = 0, wait_ = 0, again_ = kNever, until_ = kNever, next_ = kNever;
};

// What is said for a queue pair that there is not, or that has another peer: its peer's part of the move ends.
[[nodiscard]] std::optional<wire::MoveMad> said_for_nobody(const wire::MoveMad& m);

}  // namespace weft::host
