// What happened, as one number: a digest over every packet delivered, refused or dropped and over everything a host
// adds. Two runs that differ anywhere differ here. With a sink it also writes one line per event, for people.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string_view>

#include "base/time.h"
#include "wire/refusal.h"
#include "world/sim/faults.h"
#include "world/sim/parcel.h"

namespace weft::sim {

class TraceDigest {
 public:
  void delivered(Time now, const Parcel& parcel);
  void refused(Time now, const Parcel& parcel);  // by the port: parcel.refusal
  void dropped(Time now, std::uint32_t link, DropReason reason, const Parcel& parcel);

  // What else is part of a run, a completion say: who, what (a literal, also for the sink), and its numbers.
  void add(Time now, HostIndex host, std::string_view what, std::initializer_list<std::uint64_t> numbers);

  [[nodiscard]] std::uint64_t value() const { return state_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

  // From now on packets that are delivered no longer count. For runs that only measure: it costs.
  void skip_deliveries() { skips_deliveries_ = true; }
  [[nodiscard]] bool skips_deliveries() const { return skips_deliveries_; }

  // Lines go to `sink` from now on; nullptr ends that. The digest is the same with and without.
  void write_to(std::ostream* sink) { sink_ = sink; }

 private:
  class Words;
  void absorb(const Words& words);
  void print(Time now, std::string_view what, const Parcel& parcel);

  std::uint64_t state_ = 0;
  std::uint64_t events_ = 0;
  std::ostream* sink_ = nullptr;
  bool skips_deliveries_ = false;
};

}  // namespace weft::sim
