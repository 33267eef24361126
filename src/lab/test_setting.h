// What tests of runs begin with.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "lab/profile_shelf.h"
#include "lab/run.h"

namespace weft::lab {

inline Profile shelf_profile(const std::string& name) {
  ProfileShelf shelf;
  const auto found = shelf.find(name);
  if (!found) throw std::runtime_error(found.error());
  return *found;
}

// Clients of one server, each with some connections, that call and wait for the answer.
inline Setting calling(const std::string& card, Pattern pattern = Pattern::rpc) {
  Setting s;
  s.profile = shelf_profile(card);
  s.pattern = pattern;
  s.clients = 4;
  s.qps = 32;
  s.threads = 4;
  s.depth = 1;
  s.bytes = 32;
  s.messages = 400;
  s.warm_up_messages = 100;
  return s;
}

using Values = std::map<std::string, double>;
inline Values values(const Setting& s) {
  const Outcome outcome = run(s);
  return {outcome.begin(), outcome.end()};
}

}  // namespace weft::lab
