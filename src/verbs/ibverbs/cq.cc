// Completion queues.
#include "verbs/ibverbs/cq.h"

#include <algorithm>

#include "verbs/ibverbs/acknowledge.h"
#include "verbs/ibverbs/completion.h"
#include "verbs/ibverbs/completion_channel.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"
#include "world/real/os/time.h"

namespace weft::verbs {
namespace {
// A queue may be larger than was asked for. Cards round up, and programs have come to need it: ib_send_lat -e has a
// queue of one, and leaves a completion there for a round when a receive's event comes before that of a send.
constexpr std::uint32_t kLeastEntries = 16;

std::uint32_t room_for(std::int64_t entries) { return std::max(static_cast<std::uint32_t>(entries), kLeastEntries); }
}  // namespace

CompletionQueue* make_cq(ibv_context* context, std::int64_t entries, void* cq_context, ibv_comp_channel* channel,
                         std::int64_t vector) {
  Context& c = context_of(context);
  if (entries <= 0 || entries > c.device.config().max_cq_entries) return refuse(EINVAL);
  if (channel != nullptr && !is_of(context, channel)) return refuse(EINVAL);
  if (vector < 0 || vector >= c.completion_vectors) return refuse(EINVAL);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> CompletionQueue* {
    auto cq = std::make_unique<CompletionQueue>();
    const auto queue = c.device.create_cq(room_for(entries), channel != nullptr ? ours(channel).number : nic::kNone);
    if (!queue) return refuse(queue.error());
    if (channel != nullptr) channel->refcnt = ++ours(channel).queues;
    cq->context = context;
    cq->channel = channel;
    cq->cq_context = cq_context;
    cq->handle = (*queue)->number();
    cq->cqe = static_cast<int>((*queue)->capacity());
    cq->owner = &c;
    cq->queue = *queue;
    make_acknowledgeable(*cq);
    c.cqs[(*queue)->number()] = cq.get();
    return cq.release();
  });
}

namespace {
int poll_held(CompletionQueue& cq, int entries, ibv_wc* wc) {
  const Hold hold(*cq.owner);
  if (!hold) return -EIO;
  const RouteHeader header = cq.owner->route_header;
  return static_cast<int>(take(cq, static_cast<std::uint32_t>(std::max(entries, 0)),
                               [&wc, header](const nic::Completion& done) { fill(*wc++, done, header); }));
}
}  // namespace

int poll_cq(ibv_cq* ibcq, int entries, ibv_wc* wc) {
  CompletionQueue& cq = ours(ibcq);
  const int filled = poll_held(cq, entries, wc);
  if (filled == 0) cq.owner->lane.rest();
  return filled;
}

int req_notify_cq(ibv_cq* ibcq, int solicited_only) {
  CompletionQueue& cq = ours(ibcq);
  const Hold hold(*cq.owner);
  if (!hold) return EIO;
  cq.queue->request_notify(solicited_only != 0);
  cq.owner->lane.armed();
  return 0;
}

int modify_cq(ibv_cq* ibcq, ibv_modify_cq_attr* attr) {
  if ((attr->attr_mask & ~IBV_CQ_ATTR_MODERATE) != 0) return EOPNOTSUPP;
  if (attr->attr_mask == 0) return 0;
  CompletionQueue& cq = ours(ibcq);
  const Hold hold(*cq.owner);
  if (!hold) return EIO;
  return errno_of(cq.queue->moderate(attr->moderate.cq_count, weft::real::microseconds(attr->moderate.cq_period)));
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector) {
  CompletionQueue* cq = make_cq(context, cqe, cq_context, channel, comp_vector);
  return cq != nullptr ? public_of(*cq) : nullptr;
}

int ibv_resize_cq(ibv_cq* ibcq, int cqe) {
  CompletionQueue& cq = ours(ibcq);
  if (cqe <= 0) return EINVAL;
  const Hold hold(*cq.owner);
  if (!hold) return EIO;
  try {
    const auto error = cq.owner->device.resize(*cq.queue, room_for(cqe));
    if (error == weft::host::Error::none) cq.cqe = static_cast<int>(cq.queue->capacity());
    return errno_of(error);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int ibv_destroy_cq(ibv_cq* ibcq) {
  CompletionQueue& cq = ours(ibcq);
  Context& c = *cq.owner;
  {
    const Hold hold(c);
    if (!hold) return EIO;
    const std::uint32_t number = cq.queue->number();
    if (const int code = errno_of(c.device.destroy(cq.queue)); code != 0) return code;
    c.cqs[number] = nullptr;
    c.forget_async_events(ibcq);
    if (cq.channel != nullptr) {
      cq.channel->refcnt = --ours(cq.channel).queues;
      settle(c, ours(cq.channel));
    }
  }
  // No event can be fetched any more; those that have been are waited for.
  await_acknowledged(cq.mutex, cq.cond, cq.completion_events);
  await_acknowledged(cq.mutex, cq.cond, cq.async_events);
  unmake_acknowledgeable(cq);
  delete &cq;
  return 0;
}

}  // extern "C"
