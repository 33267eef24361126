// A program that calls libibverbs in any order, with any masks, lengths, numbers and flags, with null where that can be
// told, and with objects of another context. Two contexts are opened once, on loopback; what an input makes goes with
// it. The lanes' threads run beside, so what the card sends is not the same each time: what is checked does not depend
// on it. These hold:
//   * a call succeeds, or it names an error, and then nothing has changed;
//   * of a list, the first that was refused is named, and those before it were posted;
//   * what is in use cannot be destroyed, and what is not can;
//   * objects of another context are refused;
//   * there are not more completions than work, each of a queue pair that is there;
//   * memory around what is registered never changes.
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include "fuzz_bytes.h"

namespace weft {
namespace {

using fuzz::FuzzBytes;
using fuzz::require;

constexpr std::size_t kMost = 4;  // objects of a kind
constexpr std::size_t kArena = 16 * 1024, kGuard = 4096;

struct Memory {
  std::array<std::byte, kGuard> before;
  std::array<std::byte, kArena> arena;
  std::array<std::byte, kGuard> after;
};
alignas(4096) Memory memory;

bool is_untouched() {
  const auto whole = [](const auto& guard) {
    for (const std::byte b : guard) {
      if (b != std::byte{0xA5}) return false;
    }
    return true;
  };
  return whole(memory.before) && whole(memory.after);
}

void close_later(ibv_context* context) {
  fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
}

// Opened once: the broker gives a lane number for each.
struct Device {
  std::array<ibv_context*, 2> contexts{};

  Device() {
    const auto process = static_cast<unsigned>(getpid());
    const std::string address =
        "127." + std::to_string(200 + process % 50) + "." + std::to_string(process / 50 % 250) + ".1";
    setenv("WEFT_ADDR", address.c_str(), 1);
    setenv("WEFT_CONFIG", "", 1);
    ibv_device** devices = ibv_get_device_list(nullptr);
    require(devices != nullptr && devices[0] != nullptr, "there is a device");
    for (ibv_context*& context : contexts) {
      context = ibv_open_device(devices[0]);
      require(context != nullptr, "a device can be opened");
      close_later(context);
    }
    ibv_free_device_list(devices);
    memory.before.fill(std::byte{0xA5});
    memory.after.fill(std::byte{0xA5});
  }
};

Device& device() {
  static Device opened;
  return opened;
}

// Programs may write any number there, and nobody may read it as one of the names.
template <class Enum>
void set(Enum& to, std::uint64_t number) {
  const auto value = static_cast<std::uint32_t>(number);
  static_assert(sizeof value == sizeof to);
  std::memcpy(&to, &value, sizeof to);
}

template <class Enum>
std::uint32_t raw(const Enum& from) {
  std::uint32_t value = 0;
  std::memcpy(&value, &from, sizeof value);
  return value;
}

// Null and errno, or an object.
template <class Object>
Object* made(Object* object) {
  require(object != nullptr || errno > 0, "a refusal without a name");
  return object;
}
int answered(int code) {
  require(code >= 0 && code < 4096, "an error that is none");
  return code;
}

// What one context has, and who uses it.
struct World {
  struct Qp {
    ibv_qp* qp = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* cqs[2]{};
    ibv_srq* srq = nullptr;
  };
  ibv_context* context = nullptr;
  std::vector<ibv_pd*> pds;
  std::vector<ibv_cq*> cqs;
  std::vector<ibv_srq*> srqs;
  std::vector<ibv_mr*> mrs;
  std::vector<ibv_mw*> mws;
  std::vector<ibv_ah*> ahs;
  std::vector<ibv_comp_channel*> channels;
  std::vector<Qp> qps;
  std::uint64_t posted = 0, completed = 0;

  [[nodiscard]] bool uses(const ibv_pd* pd) const {
    for (const Qp& q : qps)
      if (q.pd == pd) return true;
    for (const ibv_srq* s : srqs)
      if (s->pd == pd) return true;
    for (const ibv_mr* m : mrs)
      if (m->pd == pd) return true;
    for (const ibv_mw* m : mws)
      if (m->pd == pd) return true;
    for (const ibv_ah* a : ahs)
      if (a->pd == pd) return true;
    return false;
  }
  [[nodiscard]] bool uses(const ibv_cq* cq) const {
    for (const Qp& q : qps)
      if (q.cqs[0] == cq || q.cqs[1] == cq) return true;
    return false;
  }
  [[nodiscard]] bool uses(const ibv_srq* srq) const {
    for (const Qp& q : qps)
      if (q.srq == srq) return true;
    return false;
  }
  [[nodiscard]] bool uses(const ibv_comp_channel* channel) const {
    for (const ibv_cq* c : cqs)
      if (c->channel == channel) return true;
    return false;
  }
};

template <class Object>
std::optional<std::size_t> one_of(FuzzBytes& choices, const std::vector<Object>& all) {
  if (all.empty()) return std::nullopt;
  return choices.next(all.size());
}

class Program {
 public:
  explicit Program(FuzzBytes& choices) : choices_(choices) {
    for (std::size_t i = 0; i < 2; ++i) worlds_[i].context = device().contexts[i];
  }

  void step() {
    World& w = worlds_[choices_.one_in(4) ? 1 : 0];
    World& other = &w == &worlds_[0] ? worlds_[1] : worlds_[0];
    switch (choices_.next(16)) {
      case 0: return make_domain(w);
      case 1: return make_region(w);
      case 2: return make_cq(w, other);
      case 3: return make_srq(w);
      case 4:
      case 5: return make_qp(w, other);
      case 6: return make_small(w);
      case 7: return destroy(w);
      case 8:
      case 9: return modify(w);
      case 10:
      case 11: return post_send(w, other);
      case 12: return post_receive(w);
      case 13: return change_region(w, other);
      case 14: return ask(w);
      default: return poll(w);
    }
  }

  void finish() {
    for (World& w : worlds_) {
      for (World::Qp& q : w.qps) require(ibv_destroy_qp(q.qp) == 0, "a queue pair can go");
      w.qps.clear();
      for (ibv_mw* m : w.mws) require(ibv_dealloc_mw(m) == 0, "a window can go");
      for (ibv_mr* m : w.mrs) require(ibv_dereg_mr(m) == 0, "a region can go");
      for (ibv_ah* a : w.ahs) require(ibv_destroy_ah(a) == 0, "an address handle can go");
      for (ibv_srq* s : w.srqs) require(ibv_destroy_srq(s) == 0, "a shared queue can go");
      for (ibv_cq* c : w.cqs) require(ibv_destroy_cq(c) == 0, "a completion queue can go");
      for (ibv_comp_channel* c : w.channels) require(ibv_destroy_comp_channel(c) == 0, "a channel can go");
      for (ibv_pd* p : w.pds) require(ibv_dealloc_pd(p) == 0, "a domain can go");
      ibv_async_event event{};
      while (ibv_get_async_event(w.context, &event) == 0) ibv_ack_async_event(&event);
      require(w.completed <= w.posted, "more completions than work");
    }
    require(is_untouched(), "memory that nobody registered was written");
  }

 private:
  // ---- numbers

  [[nodiscard]] std::uint32_t odd_number() {
    constexpr std::uint32_t kNumbers[] = {0, 1, 2, 4, 7, 16, 64, 255, 4096, 65535, 65536, 0x7FFF'FFFF, 0xFFFF'FFFF};
    return kNumbers[choices_.next(std::size(kNumbers))];
  }
  [[nodiscard]] std::uint32_t number(std::uint32_t usual) {
    return choices_.one_in(8) ? odd_number() : static_cast<std::uint32_t>(choices_.next(usual + 1));
  }
  // In the arena, or where nothing can be.
  [[nodiscard]] std::uint64_t place() {
    if (choices_.one_in(16)) return choices_.next(64);
    return std::bit_cast<std::uint64_t>(memory.arena.data()) + choices_.next(kArena);
  }
  [[nodiscard]] std::uint64_t length_from(std::uint64_t at) {
    if (choices_.one_in(16)) return choices_.one_in(2) ? 0 : ~std::uint64_t{0} - odd_number();
    const std::uint64_t end = std::bit_cast<std::uint64_t>(memory.arena.data()) + kArena;
    return at < end && end - at <= kArena ? choices_.next(end - at + 1) : 1 + choices_.next(64);
  }
  [[nodiscard]] std::uint32_t key(const World& w) {
    if (const auto i = one_of(choices_, w.mrs); i && !choices_.one_in(8)) return w.mrs[*i]->lkey;
    if (const auto i = one_of(choices_, w.mws); i) return w.mws[*i]->rkey;
    return odd_number();
  }
  [[nodiscard]] ibv_sge sge(const World& w) {
    const std::uint64_t at = place();
    return {at, static_cast<std::uint32_t>(choices_.one_in(16) ? odd_number() : choices_.next(2048)), key(w)};
  }
  template <class Object>
  [[nodiscard]] Object* some(const std::vector<Object*>& all) {
    const auto i = one_of(choices_, all);
    return i ? all[*i] : nullptr;
  }

  // ---- making

  void make_domain(World& w) {
    if (w.pds.size() < kMost) w.pds.push_back(made(ibv_alloc_pd(w.context)));
    require(w.pds.back() != nullptr, "a domain is to be had");
  }

  void make_region(World& w) {
    ibv_pd* pd = some(w.pds);
    if (pd == nullptr || w.mrs.size() >= kMost) return;
    const std::uint64_t at = place(), length = length_from(at);
    const auto access = static_cast<int>(choices_.one_in(4) ? odd_number() & ~0U >> 1 : choices_.next(32));
    if ((access & IBV_ACCESS_ON_DEMAND) != 0) return;  // memory that is not there yet may be anybody's later
    errno = 0;
    ibv_mr* mr = made(ibv_reg_mr(pd, std::bit_cast<void*>(at), length, access));
    if (mr == nullptr) return;
    require(is_in_arena(at, length), "memory was registered that is not there");
    w.mrs.push_back(mr);
  }
  [[nodiscard]] static bool is_in_arena(std::uint64_t at, std::uint64_t length) {
    const std::uint64_t begin = std::bit_cast<std::uint64_t>(memory.arena.data());
    return length > 0 && at >= begin && length <= kArena && at - begin <= kArena - length;
  }

  void make_cq(World& w, World& other) {
    if (choices_.one_in(2) && w.channels.size() < kMost) {
      ibv_comp_channel* channel = made(ibv_create_comp_channel(w.context));
      if (channel != nullptr) fcntl(channel->fd, F_SETFL, O_NONBLOCK);
      if (channel != nullptr) w.channels.push_back(channel);
    }
    if (w.cqs.size() >= kMost) return;
    const bool foreign = choices_.one_in(8) && !other.channels.empty();
    ibv_comp_channel* channel = foreign ? some(other.channels) : choices_.one_in(2) ? some(w.channels) : nullptr;
    const auto entries = static_cast<int>(number(64));
    const auto vector = choices_.one_in(8) ? static_cast<int>(odd_number()) : 0;
    errno = 0;
    ibv_cq* cq = made(ibv_create_cq(w.context, entries, nullptr, channel, vector));
    if (cq == nullptr) return;
    require(!foreign, "a channel of another context was taken");
    require(entries > 0 && cq->cqe >= entries && vector >= 0 && vector < w.context->num_comp_vectors, "an odd queue");
    w.cqs.push_back(cq);
  }

  void make_srq(World& w) {
    ibv_pd* pd = some(w.pds);
    if (pd == nullptr || w.srqs.size() >= kMost) return;
    ibv_srq_init_attr attr{.srq_context = nullptr, .attr = {number(64), number(4), number(4)}};
    errno = 0;
    ibv_srq* srq = made(ibv_create_srq(pd, &attr));
    if (srq != nullptr) w.srqs.push_back(srq);
  }

  void make_qp(World& w, World& other) {
    ibv_pd* pd = some(w.pds);
    if (pd == nullptr || w.qps.size() >= kMost) return;
    const bool foreign = choices_.one_in(16) && !other.cqs.empty();
    ibv_qp_init_attr attr{};
    attr.send_cq = some(w.cqs);
    attr.recv_cq = foreign ? some(other.cqs) : some(w.cqs);
    const bool foreign_srq = choices_.one_in(16) && !other.srqs.empty();
    attr.srq = foreign_srq ? some(other.srqs) : choices_.one_in(4) ? some(w.srqs) : nullptr;
    attr.cap = {number(32), number(32), number(4), number(4), number(128)};
    constexpr std::uint32_t kTypes[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    set(attr.qp_type, choices_.one_in(16) ? odd_number() : kTypes[choices_.next(4)]);
    attr.sq_sig_all = static_cast<int>(choices_.next(2));
    errno = 0;
    ibv_qp* qp = made(ibv_create_qp(pd, &attr));
    if (qp == nullptr) return;
    require(!foreign && !foreign_srq, "an object of another context was taken");
    require(attr.send_cq != nullptr && attr.recv_cq != nullptr, "a queue pair without completion queues");
    w.qps.push_back({qp, pd, {attr.send_cq, attr.recv_cq}, attr.srq});
  }

  void make_small(World& w) {
    ibv_pd* pd = some(w.pds);
    if (pd == nullptr) return;
    errno = 0;
    if (choices_.one_in(2)) {
      if (w.mws.size() >= kMost) return;
      const auto type = static_cast<ibv_mw_type>(choices_.one_in(8) ? choices_.next(4) : 1 + choices_.next(2));
      if (ibv_mw* mw = made(ibv_alloc_mw(pd, type)); mw != nullptr) w.mws.push_back(mw);
      return;
    }
    ibv_ah_attr attr = path(w);
    if (w.ahs.size() >= kMost) return;
    if (ibv_ah* ah = made(ibv_create_ah(pd, &attr)); ah != nullptr) w.ahs.push_back(ah);
  }

  [[nodiscard]] ibv_ah_attr path(World& w) {
    ibv_ah_attr a{};
    a.is_global = choices_.one_in(16) ? 0 : 1;
    a.port_num = static_cast<std::uint8_t>(choices_.one_in(16) ? odd_number() : 1);
    (void)ibv_query_gid(w.context, 1, 0, &a.grh.dgid);
    if (choices_.one_in(16)) a.grh.dgid.raw[choices_.next(16)] ^= 0xFF;
    a.grh.sgid_index = static_cast<std::uint8_t>(choices_.one_in(16) ? odd_number() : 0);
    a.grh.hop_limit = 1;
    a.sl = static_cast<std::uint8_t>(choices_.one_in(16) ? odd_number() : 0);
    return a;
  }

  // ---- destroying

  template <class Object, class Destroy>
  void destroy_one(World& w, std::vector<Object*>& all, Destroy gone) {
    const auto i = one_of(choices_, all);
    if (!i) return;
    const bool used = [&] {
      if constexpr (requires { w.uses(all[*i]); }) return w.uses(all[*i]);
      return false;
    }();
    const int code = answered(gone(all[*i]));
    require((code == 0) != used, used ? "what is in use was destroyed" : "what nobody uses cannot go");
    if (code == 0) all.erase(all.begin() + static_cast<std::ptrdiff_t>(*i));
  }

  void destroy(World& w) {
    switch (choices_.next(8)) {
      case 0: return destroy_one(w, w.pds, ibv_dealloc_pd);
      case 1: return destroy_one(w, w.cqs, ibv_destroy_cq);
      case 2: return destroy_one(w, w.srqs, ibv_destroy_srq);
      case 3: return destroy_one(w, w.channels, ibv_destroy_comp_channel);
      case 4: return destroy_one(w, w.ahs, ibv_destroy_ah);
      case 5: {  // a region may have windows, and which of them are bound the card decides
        const auto i = one_of(choices_, w.mrs);
        if (i && answered(ibv_dereg_mr(w.mrs[*i])) == 0) w.mrs.erase(w.mrs.begin() + static_cast<std::ptrdiff_t>(*i));
        return;
      }
      case 6: return destroy_one(w, w.mws, [](ibv_mw* mw) { return ibv_dealloc_mw(mw); });
      default: {
        const auto i = one_of(choices_, w.qps);
        if (!i) return;
        require(ibv_destroy_qp(w.qps[*i].qp) == 0, "a queue pair can always go");
        w.qps.erase(w.qps.begin() + static_cast<std::ptrdiff_t>(*i));
      }
    }
  }

  // ---- changing

  // The next state, with all that it needs; or with something odd.
  void modify(World& w) {
    const auto i = one_of(choices_, w.qps);
    if (!i) return;
    ibv_qp* qp = w.qps[*i].qp;
    ibv_qp_attr attr{};
    int mask = 0;
    advance(w, qp, attr, mask);
    if (choices_.one_in(4)) mask ^= 1 << choices_.next(choices_.one_in(8) ? 31 : 21);
    std::uint32_t state = raw(attr.qp_state);
    if (choices_.one_in(8))
      set(attr.qp_state, state = choices_.one_in(4) ? odd_number() : static_cast<std::uint32_t>(choices_.next(8)));
    ibv_qp_attr before{}, after{};
    ibv_qp_init_attr init{};
    require(ibv_query_qp(qp, &before, IBV_QP_STATE, &init) == 0, "a queue pair can be asked");
    const int code = answered(ibv_modify_qp(qp, &attr, mask));
    require(ibv_query_qp(qp, &after, IBV_QP_STATE, &init) == 0, "a queue pair can be asked");
    // An error that the card finds meanwhile may come in between.
    const bool failed = after.qp_state == IBV_QPS_ERR || after.qp_state == IBV_QPS_SQE;
    if (code != 0) require(after.qp_state == before.qp_state || failed, "a refusal changed the state");
    if (code == 0 && (mask & IBV_QP_STATE) != 0) require(raw(after.qp_state) == state || failed, "another state");
  }
  void advance(World& w, const ibv_qp* qp, ibv_qp_attr& a, int& mask) {
    const bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;
    a.port_num = static_cast<std::uint8_t>(choices_.one_in(16) ? odd_number() : 1);
    a.qkey = 0x1234;
    a.qp_access_flags = choices_.one_in(8) ? odd_number() : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    set(a.path_mtu, choices_.one_in(16) ? odd_number() : 1 + choices_.next(5));
    a.dest_qp_num = w.qps.empty() || choices_.one_in(8) ? odd_number() : w.qps[choices_.next(w.qps.size())].qp->qp_num;
    a.rq_psn = a.sq_psn = choices_.one_in(8) ? odd_number() : 7;
    a.max_dest_rd_atomic = a.max_rd_atomic = static_cast<std::uint8_t>(choices_.one_in(8) ? odd_number() : 4);
    a.min_rnr_timer = a.timeout = static_cast<std::uint8_t>(choices_.one_in(8) ? odd_number() : 5);
    a.retry_cnt = a.rnr_retry = static_cast<std::uint8_t>(choices_.one_in(8) ? odd_number() : 1);
    a.ah_attr = path(w);
    set(a.cur_qp_state, choices_.one_in(8) ? odd_number() : choices_.next(8));
    a.cap = {number(32), number(32), number(4), number(4), number(128)};
    switch (qp->state) {
      case IBV_QPS_RESET:
        a.qp_state = IBV_QPS_INIT;
        mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
        break;
      case IBV_QPS_INIT:
        a.qp_state = IBV_QPS_RTR;
        mask = IBV_QP_STATE;
        if (!ud) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        if (rc) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        break;
      case IBV_QPS_RTR:
        a.qp_state = IBV_QPS_RTS;
        mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
        if (rc) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        break;
      default: a.qp_state = choices_.one_in(2) ? IBV_QPS_RESET : IBV_QPS_SQD; mask = IBV_QP_STATE;
    }
  }

  void change_region(World& w, World& other) {
    const auto i = one_of(choices_, w.mrs);
    if (!i) return;
    ibv_mr* mr = w.mrs[*i];
    const bool foreign = choices_.one_in(8) && !other.pds.empty();
    ibv_pd* pd = foreign ? some(other.pds) : some(w.pds);
    const std::uint64_t at = place(), length = length_from(at);
    const auto flags = static_cast<int>(choices_.one_in(8) ? odd_number() & 0xFFFF : 1 + choices_.next(7));
    const auto access = static_cast<int>(choices_.next(32));
    const ibv_mr before = *mr;
    errno = 0;
    const int code = ibv_rereg_mr(mr, flags, pd, std::bit_cast<void*>(at), length, access);
    if (code == 0) {
      require(!foreign || (flags & IBV_REREG_MR_CHANGE_PD) == 0, "a domain of another context was taken");
      return require(is_in_arena(std::bit_cast<std::uint64_t>(mr->addr), mr->length), "memory that is not there");
    }
    require(errno > 0 && mr->pd == before.pd && mr->addr == before.addr && mr->length == before.length,
            "a refusal changed a region");
  }

  void ask(World& w) {
    const auto port = static_cast<std::uint8_t>(choices_.one_in(2) ? 1 : odd_number());
    ibv_port_attr port_attr{};
    (void)answered(ibv_query_port(w.context, port, &port_attr));
    ibv_gid gid{};
    (void)ibv_query_gid(w.context, port, static_cast<int>(odd_number()), &gid);
    std::uint16_t pkey = 0;
    (void)ibv_query_pkey(w.context, port, static_cast<int>(odd_number()), &pkey);
    if (ibv_cq* cq = some(w.cqs); cq != nullptr) {
      (void)answered(ibv_resize_cq(cq, static_cast<int>(number(256))));
      (void)answered(ibv_req_notify_cq(cq, static_cast<int>(choices_.next(3))));
      ibv_modify_cq_attr attr{odd_number() & 3, {static_cast<std::uint16_t>(odd_number()), 10}};
      (void)answered(ibv_modify_cq(cq, &attr));
    }
    if (ibv_srq* srq = some(w.srqs); srq != nullptr) {
      ibv_srq_attr attr{number(64), number(4), number(64)};
      (void)answered(ibv_modify_srq(srq, &attr, static_cast<int>(choices_.next(8))));
      require(ibv_query_srq(srq, &attr) == 0, "a shared queue can be asked");
    }
    if (ibv_comp_channel* channel = some(w.channels); channel != nullptr) {
      ibv_cq* cq = nullptr;
      void* mark = nullptr;
      if (ibv_get_cq_event(channel, &cq, &mark) == 0) ibv_ack_cq_events(cq, 1);
    }
  }

  // ---- posting

  void post_send(World& w, World& other) {
    const auto i = one_of(choices_, w.qps);
    if (!i) return;
    std::array<std::array<ibv_sge, 4>, 3> sges{};
    std::array<ibv_send_wr, 3> list{};
    const std::size_t count = 1 + choices_.next(3);
    for (std::size_t n = 0; n < count; ++n) {
      ibv_send_wr& wr = list[n];
      for (ibv_sge& s : sges[n]) s = sge(w);
      wr.wr_id = n;
      wr.next = n + 1 < count ? &list[n + 1] : nullptr;
      wr.sg_list = sges[n].data();
      wr.num_sge = choices_.one_in(16) ? -static_cast<int>(choices_.next(3)) : static_cast<int>(choices_.next(5));
      const auto opcode = static_cast<std::uint32_t>(choices_.one_in(16) ? odd_number() : choices_.next(11));
      set(wr.opcode, opcode);
      wr.send_flags = choices_.one_in(8) ? odd_number() : static_cast<unsigned>(choices_.next(16));
      if (opcode == IBV_WR_BIND_MW) {
        wr.bind_mw = {choices_.one_in(8) ? some(other.mws) : some(w.mws),
                      odd_number(),
                      {some(w.mrs), place(), choices_.next(512), static_cast<unsigned>(choices_.next(64))}};
      } else if (w.qps[*i].qp->qp_type == IBV_QPT_UD) {
        wr.wr.ud = {some(w.ahs), w.qps[choices_.next(w.qps.size())].qp->qp_num, 0x1234};
      } else {
        wr.wr.rdma = {place(), key(w)};
        if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
          wr.wr.atomic = {place(), 1, 2, key(w)};
        }
        if (opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_SEND_WITH_INV) wr.invalidate_rkey = key(w);
      }
    }
    ibv_send_wr* bad = nullptr;
    const int code = answered(ibv_post_send(w.qps[*i].qp, list.data(), &bad));
    w.posted += posted_of(list.data(), count, code, bad);
  }

  void post_receive(World& w) {
    std::array<std::array<ibv_sge, 4>, 2> sges{};
    std::array<ibv_recv_wr, 2> list{};
    const std::size_t count = 1 + choices_.next(2);
    for (std::size_t n = 0; n < count; ++n) {
      for (ibv_sge& s : sges[n]) s = sge(w);
      const auto odd = choices_.one_in(16);
      list[n] = {n, n + 1 < count ? &list[n + 1] : nullptr, sges[n].data(),
                 odd ? -static_cast<int>(choices_.next(3)) : static_cast<int>(choices_.next(5))};
    }
    ibv_recv_wr* bad = nullptr;
    int code = 0;
    if (choices_.one_in(4) && !w.srqs.empty()) {
      code = answered(ibv_post_srq_recv(some(w.srqs), list.data(), &bad));
    } else if (const auto i = one_of(choices_, w.qps); i) {
      code = answered(ibv_post_recv(w.qps[*i].qp, list.data(), &bad));
    } else {
      return;
    }
    w.posted += posted_of(list.data(), count, code, bad);
  }

  template <class Request>
  static std::size_t posted_of(const Request* list, std::size_t count, int code, const Request* bad) {
    if (code == 0) return count;
    require(bad >= list && bad < list + count, "who was refused is not named");
    return static_cast<std::size_t>(bad - list);
  }

  void poll(World& w) {
    ibv_cq* cq = some(w.cqs);
    if (cq == nullptr) return;
    std::array<ibv_wc, 8> done{};
    const int n = ibv_poll_cq(cq, static_cast<int>(choices_.next(done.size() + 1)), done.data());
    require(n >= 0 && static_cast<std::size_t>(n) <= done.size(), "more completions than were asked for");
    w.completed += static_cast<std::size_t>(n);
    require(w.completed <= w.posted, "more completions than work");
    for (int i = 0; i < n; ++i) {
      bool there = false;
      for (const World::Qp& q : w.qps) there |= q.qp->qp_num == done[static_cast<std::size_t>(i)].qp_num;
      require(there, "a completion of a queue pair that is no more");
    }
  }

  FuzzBytes& choices_;
  std::array<World, 2> worlds_;
};

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weft::fuzz::FuzzBytes choices(data, size);
  weft::Program program(choices);
  for (int most = 128; most > 0 && !choices.over(); --most) program.step();
  program.finish();
  return 0;
}
