// Completion channels. Which queues have an event waiting stands in the device (host::Device), each at most once; the
// channel's descriptor is readable as long as any has.
#include "verbs/ibverbs/completion_channel.h"

#include <mutex>

#include "verbs/ibverbs/acknowledge.h"
#include "verbs/ibverbs/errors.h"

namespace weft::verbs {

void settle(Context& c, CompletionChannel& channel) {
  if (!c.device.has_completion_event(channel.number)) channel.signal.clear();
}

namespace {

// The next event of this channel, counted against its queue; null if there is none.
CompletionQueue* take_event(Context& c, CompletionChannel& channel) {
  const host::CompletionQueue* queue = c.device.next_completion_event(channel.number);
  settle(c, channel);
  if (queue == nullptr) return nullptr;
  CompletionQueue* cq = c.cqs[queue->number()];
  ++cq->completion_events.fetched;
  return cq;
}

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  Context& c = context_of(context);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_comp_channel* {
    auto channel = std::make_unique<CompletionChannel>();
    if (!channel->signal.good()) return refuse(EMFILE);
    const auto number = c.device.create_channel();
    if (!number) return refuse(number.error());
    if (c.channels.size() <= *number) c.channels.resize(*number + 1);
    c.channels[*number] = channel.get();
    channel->context = context;
    channel->fd = channel->signal.fd();
    channel->refcnt = 0;
    channel->number = *number;
    return channel.release();
  });
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  Context& c = context_of(*channel);
  const Hold hold(c);
  if (!hold) return EIO;
  CompletionChannel& ch = ours(channel);
  if (const int code = errno_of(c.device.destroy_channel(ch.number)); code != 0) return code;
  c.channels[ch.number] = nullptr;
  delete &ch;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  Context& c = context_of(*channel);
  for (;;) {
    {
      const Hold hold(c);
      if (!hold) return minus_one(EIO);
      if (CompletionQueue* ready = take_event(c, ours(channel)); ready != nullptr) {
        *cq = public_of(*ready);
        *cq_context = ready->cq_context;
        return 0;
      }
      ours(channel).signal.expect();
    }
    if (const int code = ours(channel).signal.sleep(); code != 0) return minus_one(code);
  }
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int events) {
  CompletionQueue& q = ours(cq);
  if (q.owner->lost()) return;
  acknowledge(q.mutex, q.cond, q.completion_events, q.comp_events_completed, events);
}

}  // extern "C"
