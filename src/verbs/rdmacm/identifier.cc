#include "verbs/rdmacm/identifier.h"

#include <cstdlib>
#include <memory>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"

namespace weft::rdmacm {

Identifier::Identifier(CmAgent& its_engine, EventChannel& its, bool is_sync, void* its_context, rdma_port_space its_ps,
                       ibv_qp_type its_type)
    : rdma_cm_id{}, agent(its_engine), sync(is_sync) {
  channel = &its;
  context = its_context;
  ps = its_ps;
  qp_type = its_type;
}

Identifier::~Identifier() {
  std::free(route.path_rec);
  if (sync) rdma_destroy_event_channel(channel);
}

int create_identifier(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space ps,
                      ibv_qp_type qp_type) {
  if (id == nullptr) return fail(EINVAL);
  return attempt([&] {
    const bool sync = channel == nullptr;
    if (sync) channel = rdma_create_event_channel();
    if (channel == nullptr) return -1;
    CmAgent& agent = channel_of(channel).agent;
    if (agent.lost()) return fail(EIO);
    auto made = std::make_unique<Identifier>(agent, channel_of(channel), sync, context, ps, qp_type);
    const AgentHold hold(agent);
    agent.identifiers.insert(made.get());
    *id = made.release();
    return 0;
  });
}

int complete(Identifier& id) {
  if (!id.sync) return 0;
  if (id.event != nullptr) {
    rdma_ack_cm_event(id.event);
    id.event = nullptr;
  }
  if (rdma_get_cm_event(id.channel, &id.event) != 0) return -1;
  const int status = id.event->status;
  if (status == 0) return 0;
  if (id.event->event == RDMA_CM_EVENT_REJECTED) return fail(ECONNREFUSED);
  return fail(std::abs(status));
}

}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space ps) {
  const bool datagrams = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
  return create_identifier(channel, id, context, ps, datagrams ? IBV_QPT_UD : IBV_QPT_RC);
}

int rdma_destroy_id(rdma_cm_id* id) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    {
      AgentHold hold(me.agent);
      if (!hold) return 0;  // of the parent; there is nothing here to end
      me.agent.forget(me);
    }
    if (me.event != nullptr) {
      rdma_ack_cm_event(me.event);
      me.event = nullptr;
    }
    {
      // Until the program has given back every event that speaks of it.
      AgentHold hold(me.agent);
      me.agent.acknowledged.wait(hold.lock(), [&] { return me.acknowledged == me.fetched; });
    }
    delete &me;
    return 0;
  });
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  Identifier& me = identifier_of(id);
  if (me.sync && channel == nullptr) return fail(EINVAL);
  if (me.agent.lost()) return fail(EIO);
  return attempt([&] {
    const bool sync = channel == nullptr;
    if (sync) channel = rdma_create_event_channel();
    if (channel == nullptr) return -1;
    if (channel_of(channel).agent.lost()) return fail(EIO);
    if (me.sync && me.event != nullptr) {
      rdma_ack_cm_event(me.event);
      me.event = nullptr;
    }
    rdma_event_channel* left = nullptr;  // that was its own
    {
      AgentHold hold(me.agent);
      for (const Occurrence& o : me.its_channel().take_all_of(&me)) channel_of(channel).push(o);
      rdma_event_channel* const old = std::exchange(me.channel, channel);
      if (std::exchange(me.sync, sync)) left = old;
      me.agent.acknowledged.wait(hold.lock(), [&] { return me.acknowledged == me.fetched; });
    }
    rdma_destroy_event_channel(left);  // takes the lock itself
    return 0;
  });
}

}  // extern "C"
