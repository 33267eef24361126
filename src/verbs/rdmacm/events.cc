// What has happened becomes an rdma_cm_event when the program fetches it; that is when queue pairs change their state,
// in the program's own thread.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/path.h"
#include "verbs/rdmacm/queue_pair.h"

namespace weft::rdmacm {
namespace {

using cm::Happening;

void describe_connection(FetchedEvent& out, const cm::CmEvent& event) {
  rdma_conn_param& conn = out.param.conn;
  conn.private_data = event.private_bytes != 0 ? out.private_bytes.data() : nullptr;
  conn.private_data_len = event.private_bytes;
  conn.responder_resources = event.peer.responder_resources;
  conn.initiator_depth = event.peer.initiator_depth;
  conn.flow_control = event.peer.flow_control ? 1 : 0;
  conn.retry_count = event.peer.retry_count;
  conn.rnr_retry_count = event.peer.rnr_retry_count;
  conn.srq = event.peer.srq ? 1 : 0;
  conn.qp_num = event.peer.qpn.raw();
}

void describe_datagrams(FetchedEvent& out, const cm::CmEvent& event) {
  rdma_ud_param& ud = out.param.ud;
  ud.private_data = event.private_bytes != 0 ? out.private_bytes.data() : nullptr;
  ud.private_data_len = event.private_bytes;
  ud.ah_attr = way_to_peer(identifier_of(out.id));
  ud.qp_num = event.peer.qpn.raw();
  ud.qkey = event.qkey.raw();
}

// --- with the lock held ----------------------------------------------------------------------------------------------

// A request becomes an identifier of its own.
void fetch_request(CmAgent& agent, Identifier& listener, const cm::CmEvent& event, FetchedEvent& out) {
  EventChannel* channel = &listener.its_channel();
  std::unique_ptr<EventChannel> own;
  if (listener.sync) {
    own = std::make_unique<EventChannel>(agent);
    channel = own.get();
  }
  auto made =
      std::make_unique<Identifier>(agent, *channel, listener.sync, listener.context, listener.ps, listener.qp_type);
  static_cast<void>(own.release());  // the identifier's from here on
  describe_request(agent, *made, event);
  static_cast<void>(make_path_record(agent, *made));
  agent.manager->noticed(event.id);
  agent.by_connection[event.id] = made.get();
  agent.identifiers.insert(made.get());
  // What has happened to it while it lay there is its own now.
  for (Occurrence o : listener.its_channel().take_all_of(&listener)) {
    const bool of_child = o.kind == Occurrence::Kind::manager && o.event.id == event.id;
    if (of_child) o.owner = made.get();
    o.owner->its_channel().push(o);
  }
  out.listen_id = &listener;
  out.id = made.release();
  out.event = RDMA_CM_EVENT_CONNECT_REQUEST;
  if (listener.is_datagram()) {
    describe_datagrams(out, event);
  } else {
    describe_connection(out, event);
  }
}

// The other side is ready. With a queue pair on the identifier it is brought up and the connection stands; without, the
// program does that and calls rdma_establish.
void fetch_response(CmAgent& agent, Identifier& id, const cm::CmEvent& event, FetchedEvent& out) {
  describe_connection(out, event);
  id.peer = event.peer;
  id.knows_peer = true;
  id.rnr_retry_count = event.peer.rnr_retry_count;
  // Never more than both sides agreed to, whatever the peer says.
  const std::uint8_t resources = std::min(id.responder_resources, event.peer.responder_resources);
  const std::uint8_t initiates = std::min(id.initiator_depth, event.peer.initiator_depth);
  const int code = to_ready(id, resources, initiates);
  out.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
  if (id.qp == nullptr) return;
  cm::ManagerEffects effects;
  if (code == 0 && agent.manager->ready(id.connection, effects) == cm::Answer::ok) {
    out.event = RDMA_CM_EVENT_ESTABLISHED;
  } else {
    out.event = RDMA_CM_EVENT_CONNECT_ERROR;
    out.status = code != 0 ? -code : -EINVAL;
    id.connect_error = true;
    to_error(id);
    static_cast<void>(agent.manager->reject(id.connection, cm::reason::kConsumer, {}, agent.now(), effects));
  }
  agent.settle(effects);
}

void fetch_service_answer(const cm::CmEvent& event, FetchedEvent& out) {
  describe_datagrams(out, event);
  out.event = event.reason == cm::service_status::kSuccess ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE;
  out.status = event.reason;
}

// False: the program is not told of this.
bool fetch_from_manager(CmAgent& agent, Identifier& id, const cm::CmEvent& event, FetchedEvent& out) {
  switch (event.what) {
    case Happening::request:
    case Happening::service_request: fetch_request(agent, id, event, out); return true;
    case Happening::response: fetch_response(agent, id, event, out); return true;
    case Happening::service_answer: fetch_service_answer(event, out); return true;
    case Happening::established: out.event = RDMA_CM_EVENT_ESTABLISHED; return true;
    case Happening::rejected:
      if (id.connect_error) return false;
      describe_connection(out, event);
      out.event = RDMA_CM_EVENT_REJECTED;
      out.status = event.reason;
      to_error(id);
      return true;
    case Happening::unreachable:
      out.event = RDMA_CM_EVENT_UNREACHABLE;
      out.status = -ETIMEDOUT;
      return true;
    case Happening::disconnected:
      if (id.connect_error) return false;
      out.event = RDMA_CM_EVENT_DISCONNECTED;
      out.status = event.reason == cm::reason::kTimeout ? -ETIMEDOUT : 0;
      return true;
    case Happening::timewait_over: out.event = RDMA_CM_EVENT_TIMEWAIT_EXIT; return true;
  }
  return false;
}

bool fetch(const Occurrence& occurrence, FetchedEvent& out) {
  CmAgent& agent = occurrence.owner->agent;
  Identifier& id = *occurrence.owner;
  const cm::CmEvent& event = occurrence.event;
  const bool request = event.what == Happening::request || event.what == Happening::service_request;
  // An event of the connection that the identifier had before it tried again tells nobody anything.
  if (occurrence.kind == Occurrence::Kind::manager && !request && id.connection != event.id) return false;
  out.owner = &id;
  out.id = &id;
  out.status = occurrence.status;
  switch (occurrence.kind) {
    case Occurrence::Kind::manager:
      out.private_bytes = event.private_data;
      if (!fetch_from_manager(agent, id, event, out)) return false;
      break;
    case Occurrence::Kind::address_resolved: out.event = RDMA_CM_EVENT_ADDR_RESOLVED; break;
    case Occurrence::Kind::address_error: out.event = RDMA_CM_EVENT_ADDR_ERROR; break;
    case Occurrence::Kind::route_resolved: out.event = RDMA_CM_EVENT_ROUTE_RESOLVED; break;
  }
  ++id.fetched;
  return true;
}

// 0, -1 with errno, or kNothing: then whoever is told so is expected to sleep.
constexpr int kNothing = 1;
int try_fetch(EventChannel& from, rdma_cm_event** event) {
  auto fetched = std::make_unique<FetchedEvent>();
  const AgentHold hold(from.agent);
  while (!from.occurrences.empty()) {
    *fetched = {};
    if (fetch(from.pop(), *fetched)) {
      *event = fetched.release();
      return 0;
    }
  }
  from.signal.expect();
  return kNothing;
}

// Ends with the call, and when the thread is cancelled in it.
class Reading {
 public:
  explicit Reading(EventChannel& channel) : channel_(channel) { count(+1); }
  ~Reading() { count(-1); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  void count(int by) {
    const AgentHold hold(channel_.agent);
    channel_.readers += static_cast<unsigned>(by);
    channel_.last_reader = std::this_thread::get_id();
  }
  EventChannel& channel_;
};

}  // namespace
}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" {

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (event == nullptr) return fail(EINVAL);
  EventChannel& from = channel_of(channel);
  // The descriptors are shared with the parent of a fork: what the child took from them, the parent would miss.
  if (from.agent.lost()) return fail(EIO);
  const Reading reading(from);
  for (;;) {
    const int result = attempt([&] { return try_fetch(from, event); });
    if (result != kNothing) return result;
    if (const int code = from.signal.sleep(); code != 0) return fail(code);
  }
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  if (event == nullptr) return fail(EINVAL);
  auto* fetched = static_cast<FetchedEvent*>(event);
  CmAgent& agent = fetched->owner->agent;
  if (const AgentHold hold(agent); hold) {
    ++fetched->owner->acknowledged;
    agent.acknowledged.notify_all();
  }
  delete fetched;
  return 0;
}

const char* rdma_event_str(rdma_cm_event_type event) {
  static constexpr const char* kNames[] = {
      "RDMA_CM_EVENT_ADDR_RESOLVED",  "RDMA_CM_EVENT_ADDR_ERROR",      "RDMA_CM_EVENT_ROUTE_RESOLVED",
      "RDMA_CM_EVENT_ROUTE_ERROR",    "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
      "RDMA_CM_EVENT_CONNECT_ERROR",  "RDMA_CM_EVENT_UNREACHABLE",     "RDMA_CM_EVENT_REJECTED",
      "RDMA_CM_EVENT_ESTABLISHED",    "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
      "RDMA_CM_EVENT_MULTICAST_JOIN", "RDMA_CM_EVENT_MULTICAST_ERROR", "RDMA_CM_EVENT_ADDR_CHANGE",
      "RDMA_CM_EVENT_TIMEWAIT_EXIT"};
  const auto number = static_cast<std::size_t>(event);
  return number < std::size(kNames) ? kNames[number] : "UNKNOWN EVENT";
}

}  // extern "C"
