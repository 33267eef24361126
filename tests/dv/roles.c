// A C program that knows of Weft. Its argument says what it does: `roles` sends between a stateless and a stateful queue
// pair of its own, `ordinary` between two without a role, `refused` asks for what there is not, and `foreign` behaves as
// on a device of another maker.
#include "device.h"

static struct ibv_qp* make_in_role(enum weftdv_star_role role) {
  struct weftdv_qp_init_attr weft = {.comp_mask = WEFTDV_QP_INIT_ATTR_STAR_ROLE, .star_role = role};
  return make(IBV_QPT_RC, NULL, &weft);
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
  next_success();
  next_success();
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
  weft.comp_mask = 1 << 20;
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
