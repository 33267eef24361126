// Completions in the shape in which tests compare them: ids and statuses, in order.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "nic/formats.h"

namespace weft::test {

template <class Of>
auto each(const std::vector<nic::Completion>& log, Of&& of) {
  std::vector<std::decay_t<decltype(of(log.front()))>> all;
  for (const nic::Completion& c : log) all.push_back(of(c));
  return all;
}

using IdAndStatus = std::pair<std::uint64_t, nic::Status>;

inline std::vector<std::uint64_t> ids(const std::vector<nic::Completion>& log) {
  return each(log, [](const nic::Completion& c) { return c.id; });
}
inline std::vector<IdAndStatus> results(const std::vector<nic::Completion>& log) {
  return each(log, [](const nic::Completion& c) { return IdAndStatus(c.id, c.status); });
}

}  // namespace weft::test
