// What a stateful card's program may reach at the other end of one StaR connection: the paper's rules of server, queue
// pair, protection domain, memory region and memory window. Server and queue pair are those of the connection that has
// the registry. The stateless side makes the rules: it answers questions for keys, and tells when it takes any back.
// The card asks the registry before a packet that names memory by a key leaves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/star_payloads.h"

namespace weft::nic {

struct StarRule {
  wire::Capability shown{};            // its key and rights, and what packets show for them
  std::uint64_t base = 0, length = 0;  // of the region, or of the window
  std::uint32_t domain = 0;            // that it belongs to, at the stateless side
  bool is_window = false;
  bool is_fresh = false;  // nothing has been let through by it: a refusal is the stateless side's last word
};

class StarRegistry {
 public:
  static constexpr std::size_t kRules = 33;
  enum class Verdict : std::uint8_t { allowed, refused, unknown };

  // The stateless side has taken rules back, or is another one: none holds. Answers with a lower number are old.
  void begin(std::uint32_t number, std::uint32_t domain) {
    *this = {};
    number_ = number;
    domain_ = domain;
  }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t domain() const { return domain_; }

  [[nodiscard]] const StarRule* find(wire::Key key) const {
    for (const StarRule& r : rules_) {
      if (r.shown.key == key && key.raw() != 0) return &r;
    }
    return nullptr;
  }
  // May this be done to these bytes? `right` is one of wire::StarRights.
  [[nodiscard]] Verdict judge(wire::Key key, std::uint8_t right, std::uint64_t address, std::uint32_t bytes) const {
    const StarRule* r = find(key);
    if (r == nullptr) return Verdict::unknown;
    const bool inside =
        address >= r->base && address - r->base <= r->length && bytes <= r->length - (address - r->base);
    return inside && (r->shown.rights & right) != 0 && r->domain == domain_ ? Verdict::allowed : Verdict::refused;
  }
  // Work has been let through by it: if it refuses other work, the stateless side is asked again first.
  void use(wire::Key key) {
    for (StarRule& r : rules_) {
      if (r.shown.key == key) r.is_fresh = false;
    }
  }
  // There are more places than operations under way, so one is found that is_in_use(key) does not name.
  template <class InUse>
  void keep(const StarRule& rule, InUse&& is_in_use) {
    StarRule* to = nullptr;
    for (StarRule& old : rules_) {
      if (old.shown.key == rule.shown.key) to = &old;
    }
    while (to == nullptr || (to->shown.key != rule.shown.key && is_in_use(to->shown.key))) {
      to = &rules_[next_++ % kRules];
    }
    *to = rule;
  }
  void forget(wire::Key key) {
    for (StarRule& r : rules_) {
      if (r.shown.key == key) r = {};
    }
  }

 private:
  std::array<StarRule, kRules> rules_{};
  std::uint32_t next_ = 0, number_ = 0, domain_ = 0;
};

}  // namespace weft::nic
