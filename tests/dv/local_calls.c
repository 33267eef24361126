// A C program that calls kernels of its own card, which answer into its memory and send to its peers. Here the peers are
// other queue pairs of the same program.
#include "device.h"

enum { kTwice = 0x200, kForward, kNothing };
enum { kBytes = 64 * 1024, kAnswer = 4096, kPartitions = 64, kValues = 4096 };

static struct {
  _Alignas(64) char stream[kBytes], there[2][kBytes];
  _Alignas(8) char answer[kAnswer];
  struct weft_outlet partitions[kPartitions];
} memory;
static struct ibv_mr* mr;

// Answers its parameters twice.
static enum weft_kernel_next twice(struct weft_kernel_step* s) {
  if (!s->is_local) return WEFT_KERNEL_FAILED;
  return weft_kernel_reply(s, s->input, s->input_bytes) && weft_kernel_reply(s, s->input, s->input_bytes)
             ? WEFT_KERNEL_DONE
             : WEFT_KERNEL_FAILED;
}

// Sends what it is fed to where the call before has said, a hundred bytes at a time.
static enum weft_kernel_next forward(struct weft_kernel_step* s) {
  struct weft_kernel_target* to = s->state;
  if (s->event == WEFT_KERNEL_CALL) {
    if (s->input_bytes != sizeof *to) return WEFT_KERNEL_DONE;
    memcpy(to, s->input, sizeof *to);
    return WEFT_KERNEL_WAIT;
  }
  while (s->taken < s->input_bytes) {
    const uint32_t left = s->input_bytes - s->taken, bytes = left < 100 ? left : 100;
    const enum weft_kernel_sent sent = weft_kernel_send(s, to, (const char*)s->input + s->taken, bytes);
    if (sent != WEFT_KERNEL_SENT) return sent == WEFT_KERNEL_FULL ? WEFT_KERNEL_RETRY : WEFT_KERNEL_FAILED;
    s->taken += bytes;
    to->address += bytes;
  }
  return WEFT_KERNEL_WAIT;
}

static void deploy(uint64_t opcode, enum weft_kernel_next (*step)(struct weft_kernel_step*)) {
  const struct weft_kernel k = {
      .opcode = opcode, .name = "test", .step = step, .state_bytes = 64, .most_steps = 1000, .instances = 2};
  require(weftdv_deploy_kernel(context, &k) == 0, "a kernel is deployed");
}

// Two queue pairs that are connected with each other; the first has local calls.
static struct ibv_qp* make_way(void) {
  struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_LOCAL_CALLS, .local_calls = 2};
  struct ibv_qp *qp = make(IBV_QPT_RC, NULL, &weft), *peer = make(IBV_QPT_RC, NULL, NULL);
  require(qp != NULL && peer != NULL, "there are queue pairs");
  connect_to(qp, peer->qp_num);
  connect_to(peer, qp->qp_num);
  return qp;
}

static struct weftdv_local_rpc call_of(uint64_t opcode, const void* parameters, uint32_t bytes) {
  const struct weftdv_local_rpc call = {.wr_id = opcode,
                                        .opcode = opcode,
                                        .lkey = mr->lkey,
                                        .parameters = parameters,
                                        .parameter_bytes = bytes,
                                        .send_flags = IBV_SEND_SIGNALED,
                                        .answer_addr = (uintptr_t)memory.answer,
                                        .answer_lkey = mr->lkey,
                                        .answer_length = kAnswer};
  return call;
}
static enum weft_call_outcome call(struct ibv_qp* qp, uint64_t opcode, const void* parameters, uint32_t bytes) {
  const struct weftdv_local_rpc c = call_of(opcode, parameters, bytes);
  memset(memory.answer, 0, kAnswer);
  require(weftdv_post_local_rpc(qp, &c) == 0, "a call is posted");
  require(next_success().wr_id == opcode, "it completes");
  return (enum weft_call_outcome)((struct weft_reply_head*)(void*)memory.answer)->outcome;
}
static void feed(struct ibv_qp* qp, uint64_t opcode, const void* bytes, uint32_t count) {
  struct ibv_sge sge = {.addr = (uintptr_t)bytes, .length = count, .lkey = mr->lkey};
  const struct weftdv_local_rpc_write w = {
      .wr_id = 1, .opcode = opcode, .lkey = mr->lkey, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
  require(weftdv_post_local_rpc_write(qp, &w) == 0, "payload is posted");
  require(next_success().wr_id == 1, "it is taken");
}

static void call_own_kernels(struct ibv_qp* qp) {
  require(call(qp, kTwice, "abc", 3) == WEFT_CALL_SUCCESS, "a kernel of this card is called");
  require(memcmp(memory.answer + sizeof(struct weft_reply_head), "abcabc", 6) == 0, "it answers here");
  require(call(qp, kNothing, NULL, 0) == WEFT_CALL_NO_SUCH_KERNEL, "one that is not there is told so");
}

static void send_a_stream(struct ibv_qp* qp) {
  const struct weft_kernel_target to = {.address = (uintptr_t)memory.there[0], .key = mr->rkey};
  memset(memory.there[0], 0, kBytes);
  require(call(qp, kForward, &to, sizeof to) == WEFT_CALL_SUCCESS, "a stream is begun");
  feed(qp, kForward, memory.stream, kBytes);
  require(call(qp, kForward, NULL, 0) == WEFT_CALL_SUCCESS, "and ended");
  require(memcmp(memory.there[0], memory.stream, kBytes) == 0, "all of it is with the peer by then");
}

// Values go to two peers, by their lowest bits.
static void shuffle_to_two(struct ibv_qp* ways[2]) {
  uint64_t counts[kPartitions] = {0}, at[2] = {0};
  struct weft_kernel shipped;
  const struct weft_shuffle_call begin = {.ask = WEFT_STREAM_BEGIN,
                                          .partitions = kPartitions,
                                          .sends = 1,
                                          .partitions_at = (uintptr_t)memory.partitions},
                                 end = {.ask = WEFT_STREAM_FINISH};
  const uint64_t* values = (const uint64_t*)(const void*)memory.stream;
  for (int i = 0; i < kValues; ++i) ++counts[values[i] % kPartitions];
  for (int p = 0; p < kPartitions; ++p) {
    struct weft_outlet* o = &memory.partitions[p];
    memset(o, 0, sizeof *o);
    o->address = (uintptr_t)memory.there[p % 2] + at[p % 2];
    o->room_bytes = 8 * counts[p];
    o->sends = 1;
    o->key = mr->rkey;
    o->qpn = ways[p % 2]->qp_num;
    at[p % 2] += 8 * counts[p];
  }
  require(weft_shipped_kernel("shuffle", &shipped) && weftdv_deploy_kernel(context, &shipped) == 0, "shuffle");
  require(call(ways[0], shipped.opcode, &begin, sizeof begin) == WEFT_CALL_SUCCESS, "it begins");
  feed(ways[0], shipped.opcode, memory.stream, 8 * kValues);
  require(call(ways[0], shipped.opcode, &end, sizeof end) == WEFT_CALL_SUCCESS, "it ends");
  for (int p = 0; p < kPartitions; ++p) {
    const uint64_t* there = (const uint64_t*)(uintptr_t)memory.partitions[p].address;
    for (int i = 0; i < kValues; ++i) {
      if (values[i] % kPartitions == (uint64_t)p) require(*there++ == values[i], "each value is in its partition");
    }
  }
}

static void refuse(struct ibv_qp* qp) {
  struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_LOCAL_CALLS};
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EINVAL, "none is no number of calls");
  weft.local_calls = 1025;
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EINVAL, "nor is so many");
  weft.local_calls = 1;
  require(make(IBV_QPT_UD, NULL, &weft) == NULL && errno == EOPNOTSUPP, "not over datagrams");
  struct ibv_qp* plain = make(IBV_QPT_RC, NULL, NULL);
  struct weftdv_local_rpc c = call_of(kTwice, "x", 1);
  require(weftdv_post_local_rpc(plain, &c) == EOPNOTSUPP, "it was not made for that");
  c.send_flags = IBV_SEND_FENCE;
  require(weftdv_post_local_rpc(qp, &c) == EINVAL, "there is nothing to fence");
  c = call_of(kTwice, memory.stream, 4097);
  require(weftdv_post_local_rpc(qp, &c) == EINVAL, "too many parameters");
  c = call_of(kTwice, NULL, 1);
  require(weftdv_post_local_rpc(qp, &c) == EINVAL, "no parameters");
  c = call_of(kTwice, "x", 1);
  c.answer_length = 7;
  require(weftdv_post_local_rpc(qp, &c) == EINVAL, "no room for the answer's head");
  const struct weftdv_local_rpc_write w = {.opcode = kForward, .num_sge = 33};
  require(weftdv_post_local_rpc_write(qp, &w) == EINVAL, "too many elements");
  // An answer in memory that the key does not open breaks the queue pair, as other work does.
  c = call_of(kTwice, "x", 1);
  c.answer_lkey ^= 0xFF;
  require(weftdv_post_local_rpc(qp, &c) == 0, "that is seen later");
  require(next_completion().status == IBV_WC_LOC_PROT_ERR, "and said");
}

static void refuse_on_another_device(void) {
  struct ibv_device device;
  struct ibv_context other;
  struct ibv_qp qp;
  const struct weftdv_local_rpc c = {.opcode = 1};
  const struct weftdv_local_rpc_write w = {.opcode = 1};
  memset(&device, 0, sizeof device);
  memset(&other, 0, sizeof other);
  memset(&qp, 0, sizeof qp);
  strcpy(device.name, "mlx5_0");
  other.device = &device;
  qp.context = &other;
  require(weftdv_post_local_rpc(&qp, &c) == EOPNOTSUPP && weftdv_post_local_rpc_write(&qp, &w) == EOPNOTSUPP,
          "another maker's device has no kernels");
}

int main(void) {
  open_device();
  mr = ibv_reg_mr(pd, &memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  require(mr != NULL, "there is a region");
  for (int i = 0; i < kBytes / 8; ++i) {
    const uint64_t value = (uint64_t)i * 0x9E3779B97F4A7C15 >> 7;
    memcpy(memory.stream + 8 * (size_t)i, &value, sizeof value);
  }
  deploy(kTwice, twice);
  deploy(kForward, forward);
  struct ibv_qp* ways[2] = {make_way(), make_way()};
  call_own_kernels(ways[0]);
  send_a_stream(ways[0]);
  shuffle_to_two(ways);
  refuse(ways[1]);
  refuse_on_another_device();
  puts("called");
  return 0;
}
