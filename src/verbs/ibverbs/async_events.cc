// Asynchronous events: the card's news about a queue or a queue pair, for whoever reads the context's descriptor.
#include <algorithm>
#include <array>

#include "verbs/ibverbs/acknowledge.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"

namespace weft::verbs {
namespace {

// In the order of nic::EventKind, which begins with the one that is no asynchronous event.
constexpr std::array kTypes{IBV_EVENT_CQ_ERR,
                            IBV_EVENT_CQ_ERR,
                            IBV_EVENT_QP_FATAL,
                            IBV_EVENT_QP_REQ_ERR,
                            IBV_EVENT_QP_ACCESS_ERR,
                            IBV_EVENT_COMM_EST,
                            IBV_EVENT_SQ_DRAINED,
                            IBV_EVENT_QP_LAST_WQE_REACHED,
                            IBV_EVENT_SRQ_LIMIT_REACHED,
                            IBV_EVENT_SRQ_ERR};
static_assert(kTypes.size() == static_cast<std::size_t>(nic::EventKind::srq_error) + 1);

enum class Subject { cq, srq, qp, none };

Subject subject_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR: return Subject::cq;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: return Subject::srq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: return Subject::qp;
    default: return Subject::none;
  }
}

const void* element_of(const ibv_async_event& e) {
  switch (subject_of(e.event_type)) {
    case Subject::cq: return e.element.cq;
    case Subject::srq: return e.element.srq;
    case Subject::qp: return e.element.qp;
    case Subject::none: break;
  }
  return nullptr;
}

}  // namespace

// False: it is about something that is no more.
bool Context::translate(const nic::HostEvent& event, AsyncEvent& out) {
  out.event.event_type = kTypes[static_cast<std::size_t>(event.kind)];
  switch (subject_of(out.event.event_type)) {
    case Subject::cq: {
      CompletionQueue* cq = cqs[event.number];
      if (cq == nullptr) return false;
      out.event.element.cq = public_of(*cq);
      out.fetched = &cq->async_events.fetched;
      return true;
    }
    case Subject::srq: {
      SharedReceiveQueue* srq = srqs[event.number];
      if (srq == nullptr) return false;
      out.event.element.srq = srq;
      out.fetched = &srq->async_events.fetched;
      return true;
    }
    default: {
      const host::QueuePair* found = device.find_qp(wire::Qpn(event.number));
      QueuePair* qp = found != nullptr ? qps[found->slot()] : nullptr;
      if (qp == nullptr) return false;
      out.event.element.qp = public_of(*qp);
      out.fetched = &qp->async_events.fetched;
      return true;
    }
  }
}

// Taken over at once, while numbers still mean the objects that the events are about.
void Context::on_async_event() {
  while (const auto event = device.next_async_event()) {
    AsyncEvent translated{};
    if (!translate(*event, translated)) continue;
    async_events.push_back(translated);
    async_signal.raise();
  }
}

void Context::forget_async_events(const void* element) {
  std::erase_if(async_events, [element](const AsyncEvent& e) { return element_of(e.event) == element; });
  if (async_events.empty()) async_signal.clear();
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Context& c = context_of(context);
  for (;;) {
    {
      const Hold hold(c);
      if (!hold) return minus_one(EIO);
      if (!c.async_events.empty()) {
        *event = c.async_events.front().event;
        ++*c.async_events.front().fetched;
        c.async_events.pop_front();
        if (c.async_events.empty()) c.async_signal.clear();
        return 0;
      }
      c.async_signal.expect();
    }
    if (const int code = c.async_signal.sleep(); code != 0) return minus_one(code);
  }
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (subject_of(event->event_type)) {
    case Subject::cq: {
      CompletionQueue& cq = ours(event->element.cq);
      if (cq.owner->lost()) return;
      return acknowledge(cq.mutex, cq.cond, cq.async_events, cq.async_events_completed, 1);
    }
    case Subject::srq: {
      SharedReceiveQueue& srq = ours(event->element.srq);
      if (srq.owner->lost()) return;
      return acknowledge(srq.mutex, srq.cond, srq.async_events, srq.events_completed, 1);
    }
    case Subject::qp: {
      QueuePair& qp = ours(event->element.qp);
      if (qp.owner->lost()) return;
      return acknowledge(qp.qp_base.mutex, qp.qp_base.cond, qp.async_events, qp.qp_base.events_completed, 1);
    }
    case Subject::none: return;
  }
}

}  // extern "C"
