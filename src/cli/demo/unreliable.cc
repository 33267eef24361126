#include "cli/demo/unreliable.h"

#include "cli/demo/pattern.h"

namespace weft::cli {
namespace {

constexpr std::uint32_t kLongestUnreliable = 8 * 1024;  // up to eight packets
constexpr std::uint32_t kSlots = DemoEnd::kQueue;
constexpr std::uint32_t kMessages = 256;
constexpr std::uint32_t kLongestDatagram = 4096, kDatagramSlot = kGrhBytes + kLongestDatagram;
constexpr std::uint32_t kDatagrams = 100;  // to each host
constexpr Qkey kQkey{0x1'1111};

struct Message {
  std::uint32_t length;
  std::uint64_t pattern;
};

Message message(std::uint64_t lane, std::uint32_t number, std::uint32_t longest) {
  Draw draw(scramble(lane) + number);
  const std::uint32_t length = draw.length(longest);
  return {length, draw.next()};
}

// Where the WRITEs go: behind the slots of receives, each to a place of its own.
constexpr std::size_t write_place(std::uint32_t number) { return std::size_t{kSlots + number} * kLongestUnreliable; }

constexpr Row row_of(std::uint32_t number) { return number % 2 == 0 ? Row::uc_send : Row::uc_write; }

}  // namespace

// ---- unreliable connections -----------------------------------------------------------------------------------------

UnreliableLane::UnreliableLane(Stage stage, DemoStation& from, DemoStation& to, std::uint64_t number)
    : stage_(stage),
      number_(scramble(stage.seed) + number),
      from_(from, Service::uc, kLongestUnreliable),
      to_(to, Service::uc, write_place(kMessages)) {
  must(connect(from_.qp, to_.qp, kConnect));
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) post_receive(slot);
}

void UnreliableLane::post_receive(std::uint64_t slot) {
  must(to_.qp.post_receive(
      {.id = slot, .local = to_.memory.region().sge(slot * kLongestUnreliable, kLongestUnreliable)}));
}

Task<> UnreliableLane::send() {
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Message m = message(number_, i, kLongestUnreliable);
    fill(from_.memory.at(0, m.length), m.pattern);
    const bool writes = row_of(i) == Row::uc_write;
    const WorkRequest work{.verb = writes ? Verb::write_immediate : Verb::send_immediate,
                           .local = from_.memory.region().sge(0, m.length),
                           .remote = to_.memory.region().remote(write_place(i)),
                           .immediate = i};
    posted_.push_back(stage_.sim.now());
    if (!co_await carry_out(stage_, row_of(i), from_, work, m.length)) co_return;
  }
}

Task<> UnreliableLane::receive() {
  for (;;) {
    const Completion got = co_await stage_.sim.completion(to_.receive_cq);
    const std::uint32_t number = got.immediate.value_or(kMessages);
    const bool known = got.ok() && number < posted_.size();
    const Row row = row_of(number);
    if (known) {
      const Message m = message(number_, number, kLongestUnreliable);
      const std::size_t place = row == Row::uc_write ? write_place(number) : got.id * kLongestUnreliable;
      stage_.board[row].note_latency(got.when - posted_[number]);
      stage_.board.judge(row, got.bytes == m.length && matches(to_.memory.at(place, m.length), m.pattern));
    } else {
      stage_.board.judge(row, false);
    }
    post_receive(got.id);
  }
}

// ---- datagrams ------------------------------------------------------------------------------------------------------

DatagramPost::DatagramPost(Stage stage, DemoStation& station)
    : stage_(stage), end_(station, Service::ud, std::size_t{kSlots + 1} * kDatagramSlot) {
  must(end_.qp.connect({}, {.qkey = kQkey}));
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) post_receive(slot);
}

void DatagramPost::post_receive(std::uint64_t slot) {
  must(end_.qp.post_receive({.id = slot, .local = end_.memory.region().sge(slot * kDatagramSlot, kDatagramSlot)}));
}

Task<> DatagramPost::send(const std::vector<DatagramPost*>& others) {
  constexpr std::size_t kOut = std::size_t{kSlots} * kDatagramSlot;
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < kDatagrams; ++i) {
    for (const DatagramPost* other : others) {
      if (other == this) continue;
      const Message m = message(end_.qp.qpn().raw(), number, kLongestDatagram);
      fill(end_.memory.at(kOut, m.length), m.pattern);
      const AddressHandle path =
          must(end_.station.domain.create_address_handle({.destination = other->end_.station.device.address()}));
      const WorkRequest work{.verb = Verb::send_immediate,
                             .local = end_.memory.region().sge(kOut, m.length),
                             .immediate = number++,
                             .to = {.path = path, .qpn = other->end_.qp.qpn(), .qkey = kQkey}};
      posted_.push_back(stage_.sim.now());
      if (!co_await carry_out(stage_, Row::ud_send, end_, work, m.length)) co_return;
    }
  }
}

Task<> DatagramPost::receive(const std::vector<DatagramPost*>& others) {
  for (;;) {
    const Completion got = co_await stage_.sim.completion(end_.receive_cq);
    stage_.board.judge(Row::ud_send, check(others, got));
    post_receive(got.id);
  }
}

bool DatagramPost::check(const std::vector<DatagramPost*>& others, const Completion& got) {
  for (const DatagramPost* sender : others) {
    if (sender->end_.qp.qpn() != got.source_qpn) continue;
    const std::uint32_t number = got.immediate.value_or(UINT32_MAX);
    if (!got.ok() || !got.has_grh || number >= sender->posted_.size()) return false;
    const Message m = message(sender->end_.qp.qpn().raw(), number, kLongestDatagram);
    stage_.board[Row::ud_send].note_latency(got.when - sender->posted_[number]);
    return got.bytes == kGrhBytes + m.length &&
           matches(end_.memory.at(got.id * kDatagramSlot + kGrhBytes, m.length), m.pattern);
  }
  return false;  // from nobody we know
}

}  // namespace weft::cli
