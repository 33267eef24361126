#include "verbs/rdmacm/channel.h"

#include <array>
#include <memory>
#include <utility>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"

namespace weft::rdmacm {

void EventChannel::push(const Occurrence& occurrence) {
  occurrences.push_back(occurrence);
  signal.raise();
}

Occurrence EventChannel::pop() {
  const Occurrence first = occurrences.front();
  occurrences.pop_front();
  if (occurrences.empty()) signal.clear();
  return first;
}

std::deque<Occurrence> EventChannel::take_all_of(const Identifier* owner) {
  std::deque<Occurrence> taken, kept;
  for (const Occurrence& o : occurrences) (o.owner == owner ? taken : kept).push_back(o);
  occurrences.swap(kept);
  if (occurrences.empty()) signal.clear();
  return taken;
}

}  // namespace weft::rdmacm

using namespace weft::rdmacm;

namespace {
constexpr std::size_t kLeft = 8;
}

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  rdma_event_channel* made = nullptr;
  attempt([&] {
    CmAgent& agent = CmAgent::get();
    auto channel = std::make_unique<EventChannel>(agent);
    if (!channel->signal.good()) return fail(EMFILE);
    // Joining takes a while, and programs make their channel long before they agree with their peer on a moment to
    // connect. If it fails, who needs the device is told.
    static_cast<void>(agent.join());
    made = channel.release();
    return 0;
  });
  return made;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  if (channel == nullptr) return;
  EventChannel& ended = channel_of(channel);
  const AgentHold hold(ended.agent);
  if (!hold) return;  // of the parent; there is nothing here to end
  // A thread that waits for events waits on, as it would in the kernel: programs that end leave theirs behind (rping),
  // and one that woke up now would find no descriptor and end the program with an error.
  if (ended.readers != 0) return;
  // One that has just been here may come back, to what is no more. The last few are kept for it to wait on.
  // Without a destructor: it may come back while the program ends.
  static std::array<const EventChannel*, kLeft> left{};
  static std::size_t next = 0;
  if (ended.last_reader == std::this_thread::get_id()) return delete &ended;
  // Nobody has been here, but a thread that was started for it may come yet (rping's, if the first call fails). It is
  // told that there is no descriptor.
  if (ended.last_reader == std::thread::id()) {
    ended.occurrences.clear();
    ended.signal.close();
  }
  const EventChannel* const oldest = std::exchange(left[next++ % kLeft], &ended);
  if (oldest != nullptr && oldest->readers == 0) delete oldest;
}

}  // extern "C"
