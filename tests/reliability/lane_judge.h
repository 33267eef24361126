// The model's judgement of one lane: its sender's completions, its receiver's, and the memory on both sides.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reliability/program.h"

namespace weft::test {

class Verdicts {
 public:
  void complain(std::string what) {
    if (complaints_.size() < 10) complaints_.push_back(std::move(what));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(complaints_); }

 private:
  std::vector<std::string> complaints_;
};

class LaneJudge {
 public:
  struct Case {
    const Program& program;
    const Outcome& outcome;
    std::vector<std::vector<std::byte>>& expected;  // memory of all hosts; lanes already judged are in it
    Verdicts& verdicts;
    std::size_t channel, direction;
  };
  explicit LaneJudge(const Case& what);

  void judge();
  // How many of the hosts' completions are this lane's.
  [[nodiscard]] std::size_t completions() const { return sent_.size() + received_.size(); }

 private:
  using Bytes = std::vector<std::byte>;

  void complain(const std::string& what);

  // -- completions --
  [[nodiscard]] std::size_t judge_sends();  // how many steps surely happened
  void judge_first_error(const nic::Completion& done, std::size_t step);
  [[nodiscard]] bool may_be_broken() const;  // by the program itself, or by what the peer asks for
  [[nodiscard]] bool peer_may_be_gone() const;
  [[nodiscard]] std::size_t judge_receives();  // how many messages were received
  [[nodiscard]] bool describes(const nic::Completion& done, std::size_t step) const;
  [[nodiscard]] const std::vector<Piece>& buffer_of(const nic::Completion& done) const;
  void judge_windows(std::size_t closed) const;

  // -- memory of reliable lanes --
  void judge_reliable(std::size_t done);
  void apply(const Step& step);
  [[nodiscard]] std::vector<Piece> target_of(const Step& step) const;
  [[nodiscard]] bool stopped_somewhere(std::size_t done);
  [[nodiscard]] bool away_matches() const;
  void judge_landing(const Step& step);

  // -- the same of srnic, which places packets in any order (lane_subset.cc) --
  struct Answer {
    const Step& step;
    Bytes bytes;  // what the READ or atomic brings, if it has
  };
  [[nodiscard]] bool stopped_in_any_order(std::size_t done);
  [[nodiscard]] bool fits(std::size_t stop, std::span<const Answer> answers) const;
  [[nodiscard]] bool some_packets_of(const Bytes& before, const Bytes& actual, std::span<const Piece> place,
                                     const Bytes& message) const;
  [[nodiscard]] Bytes came_ahead(const Step& step) const;
  [[nodiscard]] std::span<const Piece> open_receive(std::size_t step) const;
  void take_leftovers(std::size_t stop, std::span<const Answer> answers);

  // -- memory of unreliable lanes --
  void judge_unreliable();
  void judge_message(const nic::Completion& done, std::size_t& next);
  void judge_grh(const Bytes& found);
  void judge_unreliable_write(const Step& step);
  void forgive_leftovers();

  [[nodiscard]] bool is_star() const { return speaks_star(case_.program); }
  [[nodiscard]] static Bytes gather(const Bytes& memory, std::span<const Piece> pieces);
  void take_actual(std::size_t host, Piece piece);

  Case case_;
  const Channel& channel_;
  const Lane& lane_;
  std::size_t sender_, receiver_;  // hosts
  const EndState& sender_end_;
  const EndState& receiver_end_;
  Bytes& home_;  // expected memory of the sender's host
  Bytes& away_;  //   and of the receiver's
  wire::Service service_;
  bool shared_, undisturbed_, in_order_;
  std::size_t refused_;                           // the first step that the receiver must refuse
  std::vector<std::size_t> messages_;             // steps that take a receive
  std::vector<wire::Key> closes_;                 // by step: the window that it invalidates at the receiver
  std::vector<nic::Completion> sent_, received_;  // this lane's completions
  std::size_t successes_ = 0;                     // of received_
  std::size_t applied_messages_ = 0;
};

}  // namespace weft::test
