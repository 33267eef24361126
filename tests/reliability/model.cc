#include "reliability/model.h"

#include <algorithm>

#include "reliability/lane_judge.h"

namespace weft::test {

namespace {

// When a sender gave up in the middle of a message, some entry of the receiver's shared queue holds part of it. Which
// one, only the card knows.
void forgive_shared_receives(const Program& program, const Outcome& outcome, std::size_t host,
                             std::vector<std::byte>& memory) {
  std::vector<bool> used(program.shared[host].size());
  for (const nic::Completion& c : outcome.logs[host]) {
    if (c.status == nic::Status::success && is_shared(c.id)) used[place_of(c.id)] = true;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    for (const Piece& p : program.shared[host][i].local) {
      std::copy_n(&outcome.arenas[host][p.offset], p.length, &memory[p.offset]);
    }
  }
}

}  // namespace

std::vector<std::string> judge(const Program& program, const Outcome& outcome) {
  Verdicts verdicts;
  if (!outcome.at_rest) verdicts.complain("the world did not come to rest");
  std::vector<std::vector<std::byte>> expected;
  for (std::uint32_t h = 0; h < program.bed.hosts; ++h) {
    expected.emplace_back(program.bed.arena_bytes);
    fill(expected.back(), arena_seed(program.bed.seed, h));
  }
  std::size_t lane_completions = 0;
  for (std::size_t channel = 0; channel < program.channels.size(); ++channel) {
    for (const std::size_t direction : {0U, 1U}) {
      LaneJudge lane({program, outcome, expected, verdicts, channel, direction});
      lane.judge();
      lane_completions += lane.completions();
    }
  }
  std::size_t completions = 0;
  for (const auto& log : outcome.logs) completions += log.size();
  if (completions != lane_completions) verdicts.complain("completions that belong to no lane");
  // A queue pair whose peer is gone goes on waiting for it.
  if (!has_failures(outcome) && outcome.recovery_bytes + outcome.reorder_notes > 0) {
    verdicts.complain("memory is still held for a recovery that is over");
  }
  for (std::size_t h = 0; h < program.shared.size(); ++h) {
    if (has_failures(outcome)) forgive_shared_receives(program, outcome, h, expected[h]);
  }
  for (std::size_t h = 0; h < expected.size(); ++h) {
    if (same_memory(expected[h], outcome.arenas[h])) continue;
    const auto [model, card] = std::mismatch(expected[h].begin(), expected[h].end(), outcome.arenas[h].begin());
    verdicts.complain("memory of host " + std::to_string(h) + " differs at byte " +
                      std::to_string(model - expected[h].begin()));
  }
  return verdicts.take();
}

bool has_failures(const Outcome& outcome) {
  return std::any_of(outcome.logs.begin(), outcome.logs.end(), [](const auto& log) {
    return std::any_of(log.begin(), log.end(),
                       [](const nic::Completion& c) { return c.status != nic::Status::success; });
  });
}

}  // namespace weft::test
