// A host of the simulated world whose card is a chip: the card of every other world, with a timing shell around it. Its
// programs are not coroutines but threads that post and poll, and that take time for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "host/device.h"
#include "nic/card.h"
#include "world/sim/chip/chip_world.h"
#include "world/sim/chip/coming.h"
#include "world/sim/chip/departures.h"
#include "world/sim/chip/estats.h"
#include "world/sim/chip/shell.h"
#include "world/sim/fabric.h"
#include "world/sim/seeded_numbers.h"

namespace weft::sim {

class ChipHost;
using ChipFabric = Fabric<ChipHost>;

// What runs on a host.
class Program {
 public:
  virtual ~Program() = default;
  virtual void on_thread(Time now, std::uint32_t thread) = 0;  // it asked to go on now
  // Memory that it looks at (ChipHost::watch) has been written.
  virtual void on_written(Time now, std::uint32_t number) { static_cast<void>(now), static_cast<void>(number); }
  // A kernel is about to read this: a program that changes such memory may do so before.
  virtual void before_kernel_reads(const void* at, std::size_t bytes) {
    static_cast<void>(at), static_cast<void>(bytes);
  }
};

class ChipHost {
 public:
  static constexpr bool kPostsToItself = true;

  ChipHost(ChipFabric& fabric, const wire::Address& address, const host::DeviceConfig& config, const ChipSpec& chip,
           std::uint64_t seed);

  [[nodiscard]] HostIndex index() const { return index_; }
  [[nodiscard]] host::Device& device() { return device_; }
  [[nodiscard]] const nic::Counters& counters() const { return device_.card().counters; }
  [[nodiscard]] const Shell& shell() const { return shell_; }
  [[nodiscard]] Estats& estats() { return estats_; }
  // What has left this host by now.
  [[nodiscard]] const LinkCounters& sent();
  // How long it has been paused until now.
  [[nodiscard]] Time paused_for() const {
    const LinkQueue* queue = fabric_.link(fabric_.uplink(index_)).queue();
    return queue != nullptr ? queue->paused_for(fabric_.now()) : 0;
  }
  // How long it has had its neighbour paused: the card at the other end of its cable, or the switch.
  [[nodiscard]] Time pausing_for() const {
    return fabric_.can_pause(index_) ? fabric_.neighbour_paused_for(index_) : 0;
  }
  // Packets that its receive buffer had no room for.
  [[nodiscard]] std::uint64_t no_room() const { return no_room_; }

  void set_program(Program* program) { program_ = program; }

  // -- for its threads; `at` is the thread's own time, not before the world's --
  [[nodiscard]] host::Error post(Time at, const host::Poster& poster, const host::WorkRequest& request);
  // Takes completions that can be seen at `now`, the world's time; how many.
  std::uint32_t poll(Time now, host::CompletionQueue& cq, std::span<nic::Completion> done);
  // The thread goes on (on_thread) when this queue has something, but not before `at`.
  void sleep(Time at, std::uint32_t thread, const host::CompletionQueue& cq);
  // The same at `at`, though the queue has nothing, if the thread sleeps then.
  void alarm(Time at, const host::CompletionQueue& cq) { event(at, What::alarm, cq.number()); }
  void go_on(Time at, std::uint32_t thread) { event(at, What::thread, thread); }  // at `at`, whatever there is
  void ring_doorbells(Time at);                                                   // after calls to the device itself
  // A thread looks at this byte of its memory: when the card has written it, and that can be seen, the program hears of
  // it (on_written, with this number).
  void watch(const std::byte* at, std::uint32_t number) { watched_.push_back({at, number}); }

  // -- the fabric's part --
  void on_parcel(Time now, const Parcel& parcel);
  void on_refused(Time now, Refusal why);
  void on_wake(Time now);
  void on_event(Time now, std::uint32_t argument);

 private:
  friend class ChipWorld;
  enum class What : std::uint8_t {
    doorbell,
    dequeue,
    depart,
    reveal,
    loss,
    control,
    nak,
    go_on,
    post,
    alarm,
    thread,
    written
  };
  static constexpr int kWhatShift = 28;

  // What the chip is about to do for a queue pair, though the card has done it already.
  struct Order {
    std::array<Time, 2> left{-1, -1};  // when the last request and the last answer leave: others leave behind them
    Time rings = kNever;               // when the doorbell that comes next is heard
    Time heard = 0;        // when the last packet or doorbell has been dealt with: the next turn comes after
    Time turn_ends = 0;    // of the turn that was given last,
    bool in_turn = false;  //   whose end nobody waits for yet
    bool carried = false;  // the doorbell brought the first entry
  };
  struct Stored {
    Time until;
    std::uint32_t bytes;
  };

  struct Watched {
    const std::byte* at;
    std::uint32_t number;
  };

  // What of a stateless connection's posts has been stored to the card.
  struct Posted {
    std::uint32_t generation = 0;           // of its block
    std::uint32_t works = 0, receives = 0;  // free-running
    std::uint32_t bytes = 0;                // of entries in stores that the card has not heard yet
  };

  static host::DeviceConfig with_address(host::DeviceConfig config, const wire::Address& address);
  void event(Time at, What what, std::uint32_t argument) {
    fabric_.post(index_, at, static_cast<std::uint32_t>(what) << kWhatShift | argument);
  }
  void receive(Time now, const wire::Packet& packet, std::uint32_t bytes);
  [[nodiscard]] bool pauses() const { return shell_.spec().pause && fabric_.can_pause(index_); }
  void receive_stateless(Time now, const wire::Packet& packet, std::uint32_t bytes);
  [[nodiscard]] bool store(Time now, std::uint32_t bytes);
  void keep_until(Time now, Time until, std::uint32_t bytes);
  [[nodiscard]] std::uint64_t most_unpaused() const;
  void look_at_neighbour(Time now);
  void forget_what_left(Time now);
  void let_leave(Time now);
  void look_after_departures();
  void ring(Time at, std::uint32_t slot);
  void hear_doorbell(Time now, std::uint32_t slot);
  void ring_stateless(Time at, bool again);
  void hear_post(Time now, std::uint32_t number);
  void send_stateless(ParcelId id, Time at, std::uint32_t bytes);
  void wake_sleeper(Time now, std::uint32_t cq);
  void reveal(Time now, std::uint32_t cq);
  void hear_loss(Time now);
  void hear_control(Time now);
  void drive(Time now);
  [[nodiscard]] bool may_give_turn(Time now);
  void give_turn(Time now);

  ChipFabric& fabric_;
  wire::Address address_;
  SeededNumbers numbers_;
  host::Device device_;
  HostIndex index_;
  Shell shell_;
  ChipWorld effects_;
  nic::Card<ChipWorld> card_;
  Estats estats_;
  Program* program_ = nullptr;

  // -- transmitting --
  std::vector<Order> orders_;  // by slot
  Time turn_free_ = 0;         // when the scheduler can give the next turn
  Time last_left_ = 0;         // of the turn that is being given
  Departures leaving_;
  Time look_at_ = kNever;  // when these are looked after next

  // -- stateless connections --
  std::vector<Posted> posts_;  // by block
  Time last_wqep_ = 0;         // when the last one leaves

  // -- receiving --
  std::deque<Stored> stored_;  // packets in the receive buffer, and until when
  std::uint64_t stored_bytes_ = 0, no_room_ = 0;
  bool neighbour_pauses_ = false;
  std::vector<Coming> coming_;     // by completion queue
  std::vector<Watched> watched_;   // memory that programs look at
  std::deque<wire::Packet> naks_;  // that are being thought about

  // -- the control queue --
  std::deque<nic::LossEvent> losses_;
  std::deque<nic::ControlMessage> answers_;
  Time software_free_ = 0, last_answer_ = 0;
};

}  // namespace weft::sim
