// Programs that call and answer: a client sends the messages of a call, the server answers with one, and the client
// calls again when it has the answer. In `rpc` the server answers each call when it is complete; in `parameter_server`
// it waits until every connection has called, and then answers all of them, as a synchronous parameter server does.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "lab/group_schedule.h"
#include "lab/workload.h"

namespace weft::lab {

// What both sides share: who wants to post waits for the slot of its connection's group, if connections take turns.
class CallSide : public Side {
 public:
  CallSide(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
           std::uint64_t seed);

 protected:
  // Posts for this end as soon as its group may.
  void want(Time at, std::uint32_t end);
  virtual void post(Time& at, std::uint32_t end) = 0;
  // The connection's number among all of the setting, which both sides agree about.
  [[nodiscard]] virtual std::uint32_t connection_of(std::uint32_t end) const = 0;

 private:
  bool begin(Time& at, std::uint32_t thread) final;

  GroupSchedule groups_;
  std::vector<std::vector<std::deque<std::uint32_t>>> waiting_;  // ends, by thread and group
};

class CallClient final : public CallSide {
 public:
  CallClient(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
             std::uint64_t seed);
  [[nodiscard]] bool asks() const override { return true; }
  void start(Time now);
  // From wanting to call to having the answer, of the calls that are measured.
  [[nodiscard]] const std::vector<Time>& latencies() const { return latencies_; }

 private:
  // Calls of a connection whose messages the card has not completed yet, at most: then the send queue is full.
  static constexpr std::uint32_t kMostUncompleted = 3;
  struct Call {
    Time began = 0;
    std::uint32_t uncompleted = 0;
    bool answered = false;
  };
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
  void post(Time& at, std::uint32_t end) override;
  [[nodiscard]] std::uint32_t connection_of(std::uint32_t end) const override { return remote_end(end); }
  void call_again(Time at, std::uint32_t end);

  std::vector<Call> calls_;  // by end
  std::vector<Time> latencies_;
};

class CallServer final : public CallSide {
 public:
  CallServer(const Setting& setting, Station& station, Peers peers, Meter& meter, std::uint64_t seed);
  [[nodiscard]] bool asks() const override { return false; }
  void start(Time now);

 private:
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
  void post(Time& at, std::uint32_t end) override;
  [[nodiscard]] std::uint32_t connection_of(std::uint32_t end) const override { return end; }

  std::vector<std::uint32_t> arrived_;  // messages of the call that is coming in, by end
  std::uint32_t complete_ = 0;          // calls that wait for the others (parameter_server)
};

}  // namespace weft::lab
