// A C program that has kernels on its card, and calls those of others. Its argument says what it does:
//   both      calls kernels over a queue pair of its own: every kind of call, answer and refusal
//   serve     deploys them, tells who it is in a line, reads the caller's line, and serves until its input ends
//   call N    the same the other way round: calls them N times
//   nobody    wants to call a peer that is no Weft card
//   foreign   behaves as on a device of another maker
#include "device.h"

enum { kEcho = 0x100, kSum, kWord, kForever, kWriter, kNothing };
enum { kRoom = 8192, kParameters = 4096 };

// ---- kernels

static enum weft_kernel_next echo(struct weft_kernel_step* s) {
  return weft_kernel_reply(s, s->input, s->input_bytes) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}

// Adds up the bytes of all RPC WRITEs since the last call, which it answers.
struct sum {
  uint64_t bytes, total;
};
static enum weft_kernel_next sum(struct weft_kernel_step* s) {
  struct sum* state = s->state;
  if (s->event == WEFT_KERNEL_PAYLOAD) {
    for (uint32_t i = 0; i < s->input_bytes; ++i) state->total += ((const uint8_t*)s->input)[i];
    state->bytes += s->input_bytes;
    return WEFT_KERNEL_WAIT;
  }
  return weft_kernel_reply(s, state, sizeof *state) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}

// Answers eight bytes at the address that the parameters say.
static enum weft_kernel_next word(struct weft_kernel_step* s) {
  uint64_t address;
  if (s->event == WEFT_KERNEL_DATA) return echo(s);
  if (s->input_bytes != sizeof address) return WEFT_KERNEL_FAILED;
  memcpy(&address, s->input, sizeof address);
  return weft_kernel_read(s, address, 8);
}

static enum weft_kernel_next write_word(struct weft_kernel_step* s) {
  uint64_t address;
  memcpy(&address, s->input, sizeof address);
  return weft_kernel_write(s, address, "kernelly", 8) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
}

static enum weft_kernel_next forever(struct weft_kernel_step* s) {
  (void)s;
  return WEFT_KERNEL_AGAIN;
}

static void deploy(uint64_t opcode, const char* name, enum weft_kernel_next (*step)(struct weft_kernel_step*)) {
  const struct weft_kernel k = {
      .opcode = opcode, .name = name, .step = step, .state_bytes = 64, .most_steps = 1000, .instances = 8};
  require(weftdv_deploy_kernel(context, &k) == 0, name);
}

static void deploy_all(void) {
  struct weft_kernel shipped;
  deploy(kEcho, "echo", echo);
  deploy(kSum, "sum", sum);
  deploy(kWord, "word", word);
  deploy(kWriter, "writer", write_word);
  deploy(kForever, "forever", forever);
  require(weft_shipped_kernel("get", &shipped) && weftdv_deploy_kernel(context, &shipped) == 0, "get is deployed");
}

// ---- a caller

// The server's memory: a table of one entry, whose value lies behind it, and a word.
struct store {
  struct weft_get_entry entry;
  char value[64];
  uint64_t word;
};

struct end {
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  struct {
    _Alignas(8) char parameters[kParameters], answer[kRoom];
    struct store store;
  } * memory;
};

// What one end tells the other.
struct peer {
  unsigned qpn, rkey;
  unsigned long long store;
};

static struct end make_end(uint64_t mask, uint32_t serves) {
  struct weftdv_qp_init_attr weft = {.comp_mask = mask, .serves_calls = serves};
  struct end e;
  inline_bytes = 128;
  e.qp = make(IBV_QPT_RC, NULL, mask != 0 ? &weft : NULL);
  require(e.qp != NULL, "there is a queue pair");
  e.memory = calloc(1, sizeof *e.memory);
  e.mr = ibv_reg_mr(pd, e.memory, sizeof *e.memory,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  require(e.mr != NULL, "there is a region");
  return e;
}

static void fill_store(struct store* s) {
  strcpy(s->value, "the value of 42");
  s->entry.keys[1] = 42;
  s->entry.values[1] = (uint64_t)sizeof s->value << 48 | (uintptr_t)s->value;
  s->word = 0x0123456789ABCDEF;
}

static struct weft_reply_head* head_of(struct end* e) { return (struct weft_reply_head*)(void*)e->memory->answer; }
static const char* answer_of(struct end* e) { return e->memory->answer + sizeof(struct weft_reply_head); }

static struct weftdv_rpc call_to(struct end* e, uint32_t rkey, uint64_t opcode, struct ibv_sge* sge) {
  memset(e->memory->answer, 0, kRoom);
  const struct weftdv_rpc call = {.wr_id = opcode,
                                  .opcode = opcode,
                                  .rkey = rkey,
                                  .sg_list = sge,
                                  .num_sge = 1,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .answer_addr = (uintptr_t)e->memory->answer,
                                  .answer_rkey = e->mr->rkey,
                                  .answer_length = kRoom};
  return call;
}

// A call with parameters of any memory, and its outcome. Polling drives the card.
static enum weft_call_outcome call(struct end* e, uint32_t rkey, uint64_t opcode, const void* parameters,
                                   uint32_t bytes) {
  struct ibv_sge sge = {.addr = (uintptr_t)parameters, .length = bytes};
  struct weftdv_rpc c = call_to(e, rkey, opcode, &sge);
  c.send_flags |= IBV_SEND_INLINE;
  require(weftdv_post_rpc(e->qp, &c) == 0, "a call is posted");
  require(next_success().wr_id == opcode, "it is the call's completion");
  const time_t until = time(NULL) + 60;
  while (((volatile struct weft_reply_head*)head_of(e))->outcome == WEFT_CALL_NONE) {
    struct ibv_wc wc;
    require(ibv_poll_cq(cq, 1, &wc) == 0 && time(NULL) < until, "an answer comes, and nothing else");
  }
  __sync_synchronize();
  return (enum weft_call_outcome)head_of(e)->outcome;
}

static void call_get(struct end* e, const struct peer* to) {
  struct weft_kernel shipped;
  require(weft_shipped_kernel("get", &shipped), "there is a kernel for GET");
  struct weft_get_call get = {.entry = to->store, .key = 42};
  require(call(e, to->rkey, shipped.opcode, &get, sizeof get) == WEFT_CALL_SUCCESS, "GET");
  require(head_of(e)->bytes == 64 && strcmp(answer_of(e), "the value of 42") == 0, "it has the value");
  get.key = 43;
  require(call(e, to->rkey, shipped.opcode, &get, sizeof get) == WEFT_CALL_SUCCESS, "GET of what there is not");
  require(head_of(e)->bytes == 0, "it has nothing");
}

// Parameters in registered memory, with room for the head before them; the answer completes a receive.
static void call_loudly(struct end* e, const struct peer* to) {
  const uint32_t bytes = 1000;  // with the head, all of a packet
  struct ibv_sge sge = {
      .addr = (uintptr_t)e->memory->parameters, .length = sizeof(struct weft_call_head) + bytes, .lkey = e->mr->lkey};
  struct ibv_recv_wr receive = {.wr_id = 7}, *bad;
  memset(e->memory->parameters + sizeof(struct weft_call_head), 'p', bytes);
  require(ibv_post_recv(e->qp, &receive, &bad) == 0, "a receive is posted");
  struct weftdv_rpc c = call_to(e, to->rkey, kEcho, &sge);
  c.notify = true;
  c.imm_data = 0x01020304;
  require(weftdv_post_rpc(e->qp, &c) == 0, "a call is posted");
  for (int done = 0; done < 2; ++done) {
    const struct ibv_wc wc = next_success();
    if (wc.wr_id != 7) continue;
    require(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == 0x01020304, "the answer completes a receive");
    require(head_of(e)->outcome == WEFT_CALL_SUCCESS && head_of(e)->bytes == bytes, "it is there by then");
    require(memcmp(answer_of(e), e->memory->parameters + sizeof(struct weft_call_head), bytes) == 0, "all of it");
  }
}

static void stream(struct end* e, const struct peer* to) {
  uint64_t expected = 0;
  for (uint32_t i = 0; i < kParameters; ++i) expected += (uint8_t)(e->memory->parameters[i] = (char)(i * 7));
  struct ibv_sge sge = {.addr = (uintptr_t)e->memory->parameters, .length = kParameters, .lkey = e->mr->lkey};
  const struct weftdv_rpc_write w = {
      .wr_id = 1, .opcode = kSum, .rkey = to->rkey, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
  for (int i = 0; i < 3; ++i) {
    require(weftdv_post_rpc_write(e->qp, &w) == 0, "payload is posted");
    next_success();
  }
  require(call(e, to->rkey, kSum, "", 0) == WEFT_CALL_SUCCESS, "the stream is asked");
  const struct sum* const answer = (const struct sum*)(const void*)answer_of(e);
  require(answer->bytes == 3 * kParameters && answer->total == 3 * expected, "it has seen all, once");
}

static void call_all(struct end* e, const struct peer* to) {
  require(call(e, to->rkey, kEcho, "how are you?", 13) == WEFT_CALL_SUCCESS, "an echo");
  require(head_of(e)->bytes == 13 && strcmp(answer_of(e), "how are you?") == 0, "it says the same");
  call_get(e, to);
  call_loudly(e, to);
  stream(e, to);
  const uint64_t at = to->store + offsetof(struct store, word), beyond = to->store + sizeof(struct store);
  require(call(e, to->rkey, kWriter, &at, sizeof at) == WEFT_CALL_SUCCESS, "a kernel writes");
  require(call(e, to->rkey, kWord, &at, sizeof at) == WEFT_CALL_SUCCESS, "a kernel reads");
  require(memcmp(answer_of(e), "kernelly", 8) == 0, "what was written");
  require(call(e, to->rkey, kWord, &beyond, sizeof beyond) == WEFT_CALL_DENIED, "only what its key opens");
  require(call(e, to->rkey, kWord, "too long for a word", 20) == WEFT_CALL_FAILED, "a kernel says no");
  require(call(e, to->rkey, kForever, "", 0) == WEFT_CALL_STOPPED, "one without end is stopped");
  require(call(e, to->rkey, kNothing, "", 0) == WEFT_CALL_NO_SUCH_KERNEL, "one that is not there is told so");
}

// ---- what is refused

static void refuse_calls(struct end* e, struct end* other, const struct peer* to) {
  struct ibv_sge sge = {
      .addr = (uintptr_t)e->memory->parameters, .length = sizeof(struct weft_call_head) - 1, .lkey = e->mr->lkey};
  struct weftdv_rpc c = call_to(e, to->rkey, kEcho, &sge);
  require(weftdv_post_rpc(e->qp, &c) == EINVAL, "no room for the head");
  sge.length = 1025;
  require(weftdv_post_rpc(e->qp, &c) == EINVAL, "more than a packet");
  sge.length = 100;
  c.answer_length = 7;
  require(weftdv_post_rpc(e->qp, &c) == EINVAL, "no room for the answer's head");
  c.answer_length = kRoom;
  c.send_flags |= IBV_SEND_INLINE;
  sge.length = 128;
  require(weftdv_post_rpc(e->qp, &c) == EINVAL, "more inline data than the queue pair takes");
  c.send_flags = 1 << 20;
  require(weftdv_post_rpc(e->qp, &c) == EINVAL, "flags that nobody knows");
  c = call_to(other, to->rkey, kEcho, &sge);
  require(weftdv_post_rpc(other->qp, &c) == EOPNOTSUPP, "it was not made to call");
}

static void refuse_queue_pairs(void) {
  struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_SERVES_CALLS};
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EINVAL, "none is no number of calls");
  weft.serves_calls = 1025;
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EINVAL, "nor is so many");
  weft.serves_calls = 4;
  require(make(IBV_QPT_UD, NULL, &weft) == NULL && errno == EOPNOTSUPP, "not over datagrams");
  weft.comp_mask = WEFTDV_QP_INIT_ATTR_CALLS;
  require(make(IBV_QPT_UC, NULL, &weft) == NULL && errno == EOPNOTSUPP, "nor unreliably");
  weft.comp_mask |= WEFTDV_QP_INIT_ATTR_STAR_ROLE;
  weft.star_role = WEFTDV_STAR_STATEFUL;
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EOPNOTSUPP, "nor in a role of StaR");
}

static void refuse_kernels(void) {
  struct weft_kernel all[16], k = {.opcode = 1, .name = "k", .step = echo, .most_steps = 1, .instances = 1};
  const int before = weftdv_list_kernels(context, all, 16);
  k.step = NULL;
  require(weftdv_deploy_kernel(context, &k) == EINVAL, "no step");
  k.step = echo;
  k.instances = 0;
  require(weftdv_deploy_kernel(context, &k) == EINVAL, "no instance");
  k.instances = 1;
  k.state_bytes = (1 << 20) + 1;
  require(weftdv_deploy_kernel(context, &k) == EINVAL, "too much state");
  require(weftdv_remove_kernel(context, 1) == EINVAL, "there is none");
  require(!weft_shipped_kernel("put", &k), "nor one that would come with Weft");
  require(weftdv_list_kernels(context, NULL, 0) == before, "nothing has changed");
  require(weftdv_list_kernels(context, NULL, 1) == -1 && errno == EINVAL, "no place for the list");
}

// Nobody is owed an answer: the completion says what is wrong, and the queue pair is of no use any more. What tells it
// may be lost, and the peer, which has broken as well, says it once: then the caller waits in vain.
static void send_to_nobody(uint32_t rkey, int with_payload) {
  struct end a = make_end(WEFTDV_QP_INIT_ATTR_CALLS, 0), b = make_end(WEFTDV_QP_INIT_ATTR_SERVES_CALLS, 4);
  struct ibv_sge sge = {.addr = (uintptr_t)a.memory->parameters, .length = kParameters, .lkey = a.mr->lkey};
  connect_to(a.qp, b.qp->qp_num);
  connect_to(b.qp, a.qp->qp_num);
  if (with_payload) {
    const struct weftdv_rpc_write w = {.wr_id = 3, .opcode = kNothing, .rkey = rkey, .sg_list = &sge, .num_sge = 1};
    require(weftdv_post_rpc_write(a.qp, &w) == 0, "payload for nobody is posted");
  } else {
    struct weftdv_rpc c = call_to(&a, rkey, kNothing, &sge);
    sge.length = sizeof(struct weft_call_head);
    c.wr_id = 3;
    c.answer_length = 0;
    require(weftdv_post_rpc(a.qp, &c) == 0, "a call of nobody is posted");
  }
  const struct ibv_wc wc = next_completion();
  if (getenv("WEFT_LOSS") == NULL || wc.status != IBV_WC_RETRY_EXC_ERR) {
    require(wc.wr_id == 3 && wc.status == IBV_WC_REM_OP_ERR, "it completes with an error");
    require(strcmp(weftdv_reason_name(wc.vendor_err), "peer_no_kernel") == 0, "which names the reason");
  }
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  require(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_ERR, "it has broken");
  require(ibv_destroy_qp(a.qp) == 0 && ibv_destroy_qp(b.qp) == 0, "they go");
}

// ---- what the argument says

static int call_oneself(void) {
  struct end a = make_end(WEFTDV_QP_INIT_ATTR_CALLS, 0), b = make_end(WEFTDV_QP_INIT_ATTR_SERVES_CALLS, 4);
  const struct peer to = {.rkey = b.mr->rkey, .store = (uintptr_t)&b.memory->store};
  struct weft_kernel all[16];
  deploy_all();
  fill_store(&b.memory->store);
  connect_to(a.qp, b.qp->qp_num);
  connect_to(b.qp, a.qp->qp_num);
  call_all(&a, &to);
  refuse_calls(&a, &b, &to);
  refuse_queue_pairs();
  refuse_kernels();
  require(weftdv_list_kernels(context, all, 16) == 6 && strcmp(all[0].name, "echo") == 0, "kernels are listed");
  deploy(kEcho, "word", word);
  require(call(&a, to.rkey, kEcho, "no address", 10) == WEFT_CALL_FAILED, "a kernel is replaced");
  require(weftdv_remove_kernel(context, kEcho) == 0, "and removed");
  require(call(&a, to.rkey, kEcho, "", 0) == WEFT_CALL_NO_SUCH_KERNEL, "it is gone");
  require(ibv_destroy_qp(a.qp) == 0 && ibv_destroy_qp(b.qp) == 0, "they go");
  send_to_nobody(to.rkey, 1);
  send_to_nobody(to.rkey, 0);
  require(strcmp(weftdv_reason_name(255), "?") == 0 && strcmp(weftdv_reason_meaning(255), "?") == 0, "no reason");
  puts("called");
  return 0;
}

static struct peer exchange(struct end* e) {
  union ibv_gid gid;
  struct peer peer;
  char text[33];
  require(ibv_query_gid(context, 1, 0, &gid) == 0, "there is a GID");
  for (int i = 0; i < 16; ++i) printf("%02x", gid.raw[i]);
  printf(" %x %x %llx\n", e->qp->qp_num, e->mr->rkey, (unsigned long long)(uintptr_t)&e->memory->store);
  fflush(stdout);
  require(scanf("%32s %x %x %llx", text, &peer.qpn, &peer.rkey, &peer.store) == 4, "the peer tells who it is");
  for (int i = 0; i < 16; ++i) {
    unsigned byte;
    require(sscanf(text + 2 * i, "%2x", &byte) == 1, "by its GID");
    gid.raw[i] = (uint8_t)byte;
  }
  connect_at(e->qp, &gid, peer.qpn);
  return peer;
}

static int serve(void) {
  struct end e = make_end(WEFTDV_QP_INIT_ATTR_SERVES_CALLS, 4);
  deploy_all();
  fill_store(&e.memory->store);
  exchange(&e);
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  struct ibv_wc wc;
  require(ibv_poll_cq(cq, 1, &wc) == 0, "its program has seen nothing of it");
  puts("served");
  return 0;
}

static int call_others(int times) {
  struct end e = make_end(WEFTDV_QP_INIT_ATTR_CALLS, 0);
  const struct peer to = exchange(&e);
  require(times > 0, "it is to call");
  for (int i = 0; i < times; ++i) call_all(&e, &to);
  puts("called");
  return 0;
}

// Its input tells of a peer at an address where nobody answers for a card.
static int call_nobody(void) {
  struct end e = make_end(WEFTDV_QP_INIT_ATTR_CALLS, 0);
  const struct peer to = exchange(&e);
  struct ibv_sge sge = {.addr = (uintptr_t) "", .length = 0};
  struct weftdv_rpc c = call_to(&e, to.rkey, kEcho, &sge);
  c.send_flags |= IBV_SEND_INLINE;
  require(weftdv_post_rpc(e.qp, &c) == EOPNOTSUPP, "who does not answer is no Weft card");
  const struct weftdv_rpc_write w = {.opcode = kEcho, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_INLINE};
  require(weftdv_post_rpc_write(e.qp, &w) == EOPNOTSUPP, "nor for payload");
  puts("refused");
  return 0;
}

static int be_on_another_device(void) {
  struct ibv_device device;
  struct ibv_context other;
  struct ibv_qp qp;
  struct weftdv_rpc c;
  struct weftdv_rpc_write w;
  const struct weft_kernel k = {.opcode = 1, .step = echo, .most_steps = 1, .instances = 1};
  memset(&device, 0, sizeof device);
  memset(&other, 0, sizeof other);
  memset(&qp, 0, sizeof qp);
  memset(&c, 0, sizeof c);
  memset(&w, 0, sizeof w);
  strcpy(device.name, "mlx5_0");
  other.device = &device;
  qp.context = &other;
  require(weftdv_deploy_kernel(&other, &k) == EOPNOTSUPP && weftdv_remove_kernel(&other, 1) == EOPNOTSUPP, "kernels");
  require(weftdv_list_kernels(&other, NULL, 0) == -1 && errno == EOPNOTSUPP, "nor a list of them");
  require(weftdv_post_rpc(&qp, &c) == EOPNOTSUPP && weftdv_post_rpc_write(&qp, &w) == EOPNOTSUPP, "nor calls");
  require(weft_checksum("123456789", 9) == 0x995DC9BBDF1939FA, "checksums need no device");
  puts("not supported");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "foreign") == 0) return be_on_another_device();
  open_device();
  if (strcmp(what, "serve") == 0) return serve();
  if (strcmp(what, "call") == 0 && argc > 2) return call_others(atoi(argv[2]));
  if (strcmp(what, "nobody") == 0) return call_nobody();
  require(strcmp(what, "both") == 0, "the argument is one of both, serve, call N, nobody and foreign");
  return call_oneself();
}
