// Connecting, accepting, refusing, ending.
#include <algorithm>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/path.h"
#include "verbs/rdmacm/queue_pair.h"

namespace weft::rdmacm {
namespace {

std::span<const std::byte> bytes_of(const void* data, std::size_t size) {
  return data == nullptr ? std::span<const std::byte>{} : std::span(static_cast<const std::byte*>(data), size);
}
std::span<const std::byte> private_data_of(const rdma_conn_param* param) {
  return param == nullptr ? std::span<const std::byte>{} : bytes_of(param->private_data, param->private_data_len);
}

// More than the device has cannot be promised; 255 is "as many as there are".
bool is_sensible(const Identifier& id, const rdma_conn_param* param) {
  if (id.ps != RDMA_PS_TCP) return true;
  if (param == nullptr) return id.qp != nullptr;
  const auto fits = [](std::uint8_t wanted, std::uint8_t all, std::uint8_t limit) {
    return wanted == all || wanted <= limit;
  };
  return fits(param->responder_resources, RDMA_MAX_RESP_RES, id.agent.max_responder_resources) &&
         fits(param->initiator_depth, RDMA_MAX_INIT_DEPTH, id.agent.max_initiator_depth);
}

std::uint32_t qpn_of(const Identifier& id, const rdma_conn_param* param) {
  return id.qp != nullptr ? id.qp->qp_num : param != nullptr ? param->qp_num : 0;
}

cm::QpParameters side_of(const Identifier& id, const rdma_conn_param* param) {
  return {.qpn = wire::Qpn(qpn_of(id, param)),
          .starting_psn = id.starting_psn,
          .responder_resources = id.responder_resources,
          .initiator_depth = id.initiator_depth,
          .retry_count = id.retry_count,
          .rnr_retry_count = param != nullptr ? param->rnr_retry_count : std::uint8_t{7},
          .flow_control = param != nullptr && param->flow_control != 0,
          .srq = id.qp != nullptr ? id.qp->srq != nullptr : param != nullptr && param->srq != 0};
}

wire::IpCmHeader addresses_of(const Identifier& id) {
  return {.ip_version = static_cast<std::uint8_t>(id.source.family == AF_INET ? 4 : 6),
          .source_port = id.source.port,
          .source = id.source.address,
          .destination = id.destination.is_any() ? id.path.remote : id.destination.address};
}

std::uint64_t service_of(const Identifier& id) {
  return wire::cm_service_id(static_cast<wire::PortSpace>(id.ps), id.destination.port);
}

// --- with the lock held ----------------------------------------------------------------------------------------------

int connect(Identifier& id, const rdma_conn_param* param) {
  CmAgent& agent = id.agent;
  if (!id.routed || id.listening) return EINVAL;
  if (id.connection != 0) {
    // After a refusal an identifier may try again.
    const cm::Connection* before = agent.manager->find(id.connection);
    if (before != nullptr && before->state != cm::State::over) return EINVAL;
  }
  id.path.mtu = static_cast<std::uint8_t>(agent.mtu);
  id.path.ack_timeout = id.ack_timeout.value_or(kAckTimeout);
  id.path.traffic_class = id.traffic_class;
  id.path.hop_limit = kHopLimit;
  id.starting_psn = wire::Psn(static_cast<std::uint32_t>(agent.chance.next()));
  id.retry_count = param != nullptr ? std::min<std::uint8_t>(param->retry_count, 7) : 7;
  id.knows_peer = id.connect_error = false;
  const auto depth = [](std::uint8_t wanted, std::uint8_t limit) { return wanted == 255 ? limit : wanted; };
  id.responder_resources =
      depth(param != nullptr ? param->responder_resources : std::uint8_t{255}, agent.max_responder_resources);
  id.initiator_depth = depth(param != nullptr ? param->initiator_depth : std::uint8_t{255}, agent.max_initiator_depth);
  cm::ManagerEffects effects;
  cm::Id made = 0;
  cm::Answer answer{};
  if (id.is_datagram()) {
    const cm::ServiceCall call{.path = id.path,
                               .service_id = service_of(id),
                               .addresses = addresses_of(id),
                               .private_data = private_data_of(param)};
    answer = agent.manager->ask_service(call, agent.now(), effects, made);
  } else {
    const cm::ConnectCall call{.path = id.path,
                               .service_id = service_of(id),
                               .addresses = addresses_of(id),
                               .unreliable = id.qp_type == IBV_QPT_UC,
                               .side = side_of(id, param),
                               .private_data = private_data_of(param)};
    answer = agent.manager->connect(call, agent.now(), effects, made);
  }
  if (answer != cm::Answer::ok) return errno_of(answer);
  if (id.connection != 0) {
    agent.by_connection.erase(id.connection);
    agent.manager->release(id.connection, agent.now(), effects);
  }
  id.connection = made;
  agent.by_connection[made] = &id;
  agent.settle(effects);
  return 0;
}

int accept_datagrams(Identifier& id, const rdma_conn_param* param) {
  cm::ManagerEffects effects;
  const cm::ServiceAnswer answer{.status = cm::service_status::kSuccess,
                                 .qpn = wire::Qpn(qpn_of(id, param)),
                                 .qkey = wire::Qkey(RDMA_UDP_QKEY),
                                 .private_data = private_data_of(param)};
  const cm::Answer answered = id.agent.manager->answer_service(id.connection, answer, id.agent.now(), effects);
  id.agent.settle(effects);
  return errno_of(answered);
}

int accept_connection(Identifier& id, const rdma_conn_param* param) {
  CmAgent& agent = id.agent;
  const cm::Connection* c = agent.manager->find(id.connection);
  if (c == nullptr || c->state != cm::State::request_received) return EINVAL;
  const auto depth = [](std::uint8_t wanted, std::uint8_t offered, std::uint8_t limit) {
    return wanted == 255 ? std::min(offered, limit) : wanted;
  };
  const std::uint8_t resources = depth(param != nullptr ? param->responder_resources : std::uint8_t{255},
                                       id.responder_resources, agent.max_responder_resources);
  const std::uint8_t initiates = depth(param != nullptr ? param->initiator_depth : std::uint8_t{255},
                                       id.initiator_depth, agent.max_initiator_depth);
  if (const int code = to_ready(id, resources, initiates); code != 0) return code;
  cm::ManagerEffects effects;
  const cm::Answer answered =
      agent.manager->accept(id.connection, side_of(id, param), private_data_of(param), agent.now(), effects);
  agent.settle(effects);
  if (answered != cm::Answer::ok) to_error(id);
  return errno_of(answered);
}

int refuse(Identifier& id, std::span<const std::byte> data, std::uint16_t why) {
  CmAgent& agent = id.agent;
  cm::ManagerEffects effects;
  cm::Answer answer{};
  if (id.is_datagram()) {
    const cm::ServiceAnswer no{.status = cm::service_status::kRejected, .private_data = data};
    answer = agent.manager->answer_service(id.connection, no, agent.now(), effects);
  } else {
    answer = agent.manager->reject(id.connection, why, data, agent.now(), effects);
  }
  agent.settle(effects);
  return errno_of(answer);
}

int reject_because(rdma_cm_id* id, const void* data, std::uint8_t size, std::uint16_t why) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    const AgentHold hold(me.agent);
    if (!hold) return fail(EIO);
    return me.connection == 0 ? fail(EINVAL) : minus_one_if(refuse(me, bytes_of(data, size), why));
  });
}

// Will an event follow a disconnect? Programs without a channel wait for it.
bool something_follows(const Identifier& id) {
  const cm::Connection* c = id.agent.manager->find(id.connection);
  const bool ending = c != nullptr && (c->state == cm::State::disconnect_sent || c->state == cm::State::timewait);
  return ending || !id.its_channel().occurrences.empty();
}

}  // namespace
}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_connect(rdma_cm_id* id, rdma_conn_param* conn_param) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    {
      const AgentHold hold(me.agent);
      if (!hold) return fail(EIO);
      if (!is_sensible(me, conn_param)) return fail(EINVAL);
      if (const int code = connect(me, conn_param); code != 0) return fail(code);
    }
    return complete(me);
  });
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* conn_param) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    {
      const AgentHold hold(me.agent);
      if (!hold) return fail(EIO);
      if (me.connection == 0 || !is_sensible(me, conn_param)) return fail(EINVAL);
      const int code = me.is_datagram() ? accept_datagrams(me, conn_param) : accept_connection(me, conn_param);
      if (code != 0) return fail(code);
    }
    if (!me.is_datagram()) return complete(me);
    // Nothing follows for datagrams: the request is dealt with.
    if (me.sync && me.event != nullptr) {
      rdma_ack_cm_event(me.event);
      me.event = nullptr;
    }
    return 0;
  });
}

int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t private_data_len) {
  return reject_because(id, private_data, private_data_len, weft::cm::reason::kConsumer);
}

int rdma_reject_ece(rdma_cm_id* id, const void* private_data, uint8_t private_data_len) {
  return reject_because(id, private_data, private_data_len, weft::cm::reason::kVendorOption);
}

// For programs that bring their queue pair up themselves.
int rdma_establish(rdma_cm_id* id) {
  if (id->qp != nullptr) return fail(EINVAL);
  Identifier& me = identifier_of(id);
  return attempt([&] {
    const AgentHold hold(me.agent);
    if (!hold) return fail(EIO);
    if (me.connection == 0) return fail(EINVAL);
    weft::cm::ManagerEffects effects;
    const weft::cm::Answer answer = me.agent.manager->ready(me.connection, effects);
    me.agent.settle(effects);
    return minus_one_if(errno_of(answer));
  });
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  Identifier& me = identifier_of(id);
  if (event != IBV_EVENT_COMM_EST || me.is_datagram()) return fail(EINVAL);
  return attempt([&] {
    const AgentHold hold(me.agent);
    if (!hold) return fail(EIO);
    if (me.connection == 0) return fail(EINVAL);
    weft::cm::ManagerEffects effects;
    const weft::cm::Answer answer = me.agent.manager->established(me.connection, effects);
    me.agent.settle(effects);
    return minus_one_if(errno_of(answer));
  });
}

int rdma_disconnect(rdma_cm_id* id) {
  Identifier& me = identifier_of(id);
  return attempt([&] {
    {
      const AgentHold hold(me.agent);
      if (!hold) return fail(EIO);
      if (me.verbs == nullptr || me.connection == 0) return fail(EINVAL);
      if (const int code = to_error(me); code != 0) return fail(code);
      weft::cm::ManagerEffects effects;
      // If the other side was first there is nothing left to say, and that is well.
      static_cast<void>(me.agent.manager->disconnect(me.connection, me.agent.now(), effects));
      me.agent.settle(effects);
      if (me.sync && !something_follows(me)) return 0;
    }
    return complete(me);
  });
}

}  // extern "C"
