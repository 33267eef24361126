// A C program that knows of Weft. Its argument says what it does: `roles` sends between a stateless and a stateful queue
// pair of its own, `ordinary` between two without a role, `refused` asks for what there is not, and `foreign` behaves as
// on a device of another maker.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/dv.h"

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "failed: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static void open_device(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  require(list != NULL && list[0] != NULL, "there is a device");
  require(weftdv_is_supported(list[0]), "it is Weft's");
  context = ibv_open_device(list[0]);
  require(context != NULL, "it opens");
  ibv_free_device_list(list);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  require(pd != NULL && cq != NULL, "there is a domain and a completion queue");
}

static struct ibv_qp* make(enum ibv_qp_type type, struct ibv_srq* srq, struct weftdv_qp_init_attr* weft) {
  struct ibv_qp_init_attr_ex attr;
  memset(&attr, 0, sizeof attr);
  attr.qp_type = type;
  attr.send_cq = attr.recv_cq = cq;
  attr.srq = srq;
  attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
  attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = pd;
  return weftdv_create_qp(context, &attr, weft);
}

static struct ibv_qp* make_in_role(enum weftdv_star_role role) {
  struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_STAR_ROLE, .star_role = role};
  return make(IBV_QPT_RC, NULL, &weft);
}

static void connect_to(struct ibv_qp* qp, uint32_t peer) {
  struct ibv_qp_attr a;
  memset(&a, 0, sizeof a);
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  require(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = peer;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 12;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.hop_limit = 1;
  require(ibv_query_gid(context, 1, 0, &a.ah_attr.grh.dgid) == 0, "there is a GID");
  require(ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;
  a.retry_cnt = a.rnr_retry = 7;
  a.max_rd_atomic = 1;
  require(ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "RTS");
}

static void wait_for_two(void) {
  const time_t until = time(NULL) + 60;
  for (int done = 0; done < 2;) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    require(n >= 0 && time(NULL) < until, "completions come");
    require(n == 0 || wc.status == IBV_WC_SUCCESS, "they are good");
    done += n;
  }
}

static void send_between(struct ibv_qp* from, struct ibv_qp* to, struct ibv_mr* mr, char* memory) {
  struct ibv_sge there = {.addr = (uintptr_t)memory + 64, .length = 64, .lkey = mr->lkey};
  struct ibv_sge here = {.addr = (uintptr_t)memory, .length = 64, .lkey = mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &there, .num_sge = 1}, *bad_receive;
  struct ibv_send_wr send, *bad;
  memset(&send, 0, sizeof send);
  send.sg_list = &here;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  memset(memory, 0, 128);
  snprintf(memory, 64, "from %06x", from->qp_num);
  require(ibv_post_recv(to, &receive, &bad_receive) == 0, "a receive is posted");
  require(ibv_post_send(from, &send, &bad) == 0, "a send is posted");
  wait_for_two();
  require(memcmp(memory, memory + 64, 64) == 0, "the bytes have arrived");
}

static int send_both_ways(struct ibv_qp* a, struct ibv_qp* b) {
  static char memory[128];
  require(a != NULL && b != NULL, "there are queue pairs");
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  require(mr != NULL, "there is a region");
  connect_to(a, b->qp_num);
  connect_to(b, a->qp_num);
  send_between(a, b, mr, memory);
  send_between(b, a, mr, memory);
  require(ibv_destroy_qp(a) == 0 && ibv_destroy_qp(b) == 0, "they go");
  puts("sent both ways");
  return 0;
}

static int ask_for_what_there_is_not(void) {
  struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(pd, &srq_attr);
  struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_STAR_ROLE, .star_role = WEFTDV_STAR_STATELESS};
  require(make(IBV_QPT_RC, srq, &weft) == NULL && errno == EOPNOTSUPP, "no shared receive queue");
  require(make(IBV_QPT_UD, NULL, &weft) == NULL && errno == EOPNOTSUPP, "no datagrams");
  weft.comp_mask = 2;
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EINVAL, "no unknown bits");
  weft.comp_mask = WEFTDV_QP_INIT_ATTR_STAR_ROLE;
  weft.star_role = (enum weftdv_star_role)7;
  require(make(IBV_QPT_RC, NULL, &weft) == NULL && errno == EINVAL, "no unknown role");
  require(weftdv_create_qp(NULL, NULL, NULL) == NULL && errno == EINVAL, "not without a context");
  puts("refused");
  return 0;
}

static int be_on_another_device(void) {
  struct ibv_device device;
  struct ibv_context other;
  struct ibv_qp_init_attr_ex attr;
  memset(&device, 0, sizeof device);
  memset(&other, 0, sizeof other);
  memset(&attr, 0, sizeof attr);
  strcpy(device.name, "mlx5_0");
  other.device = &device;
  require(!weftdv_is_supported(&device) && !weftdv_is_supported(NULL), "it is not Weft's");
  require(weftdv_create_qp(&other, &attr, NULL) == NULL && errno == EOPNOTSUPP, "and has no such queue pairs");
  puts("not supported");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "foreign") == 0) return be_on_another_device();
  open_device();
  if (strcmp(what, "refused") == 0) return ask_for_what_there_is_not();
  if (strcmp(what, "ordinary") == 0) return send_both_ways(make(IBV_QPT_RC, NULL, NULL), make(IBV_QPT_RC, NULL, NULL));
  require(strcmp(what, "roles") == 0, "the argument is one of roles, ordinary, refused and foreign");
  return send_both_ways(make_in_role(WEFTDV_STAR_STATELESS), make_in_role(WEFTDV_STAR_STATEFUL));
}
