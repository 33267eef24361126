// A C program whose kernels are bytecode: it deploys objects that it reads from files, and calls them. Arguments: what it
// does, and the folder of the objects.
//   local     deploys by itself: what runs, what is refused and why, and that calls go on while kernels are replaced
//   peer      the same as a peer that was given a key, over a queue pair
//   missing   the library is not there
#include "device.h"

enum { kOpcode = 0x300, kGranted = 0x400 };
enum { kRoom = 8192, kObject = 64 * 1024 };

static struct {
  _Alignas(16) char parameters[4096], answer[kRoom], object[kObject];
  uint64_t word;
} memory;
static struct ibv_mr* mr;
static struct ibv_qp *caller, *server;
static const char* folder;

static size_t read_object(const char* name, char* to) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.o", folder, name);
  FILE* file = fopen(path, "rb");
  require(file != NULL, path);
  const size_t bytes = fread(to, 1, kObject, file);
  fclose(file);
  return bytes;
}

static struct weft_bytecode wanted_of(const char* name, const char* section, uint64_t opcode) {
  const struct weft_bytecode wanted = {.object = memory.object,
                                       .object_bytes = read_object(name, memory.object),
                                       .section = section,
                                       .opcode = opcode,
                                       .name = name,
                                       .state_bytes = 64,
                                       .most_steps = 100,
                                       .instances = 4};
  return wanted;
}

static void make_pair(void) {
  struct weftdv_qp_init_attr calls = {.comp_mask = WEFTDV_QP_INIT_ATTR_CALLS};
  struct weftdv_qp_init_attr serves = {.comp_mask = WEFTDV_QP_INIT_ATTR_SERVES_CALLS, .serves_calls = 2};
  inline_bytes = 128;
  caller = make(IBV_QPT_RC, NULL, &calls);
  server = make(IBV_QPT_RC, NULL, &serves);
  require(caller != NULL && server != NULL, "there are queue pairs");
  mr =
      ibv_reg_mr(pd, &memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  require(mr != NULL, "there is a region");
  connect_to(caller, server->qp_num);
  connect_to(server, caller->qp_num);
}

static enum weft_call_outcome call(uint64_t opcode, const void* parameters, uint32_t bytes) {
  memcpy(memory.parameters + sizeof(struct weft_call_head), parameters, bytes);
  memset(memory.answer, 0, sizeof memory.answer);
  struct ibv_sge sge = {
      .addr = (uintptr_t)memory.parameters, .length = sizeof(struct weft_call_head) + bytes, .lkey = mr->lkey};
  struct weftdv_rpc rpc = {.wr_id = opcode,
                           .opcode = opcode,
                           .rkey = mr->rkey,
                           .sg_list = &sge,
                           .num_sge = 1,
                           .send_flags = IBV_SEND_SIGNALED,
                           .answer_addr = (uintptr_t)memory.answer,
                           .answer_rkey = mr->rkey,
                           .answer_length = kRoom};
  require(weftdv_post_rpc(caller, &rpc) == 0, "a call is posted");
  require(next_success().wr_id == opcode, "it is the call's completion");
  volatile struct weft_reply_head* head = (struct weft_reply_head*)(void*)memory.answer;
  const time_t until = time(NULL) + 60;
  while (head->outcome == WEFT_CALL_NONE) {
    struct ibv_wc wc;
    require(ibv_poll_cq(cq, 1, &wc) == 0 && time(NULL) < until, "an answer comes, and nothing else");
  }
  __sync_synchronize();
  return (enum weft_call_outcome)head->outcome;
}

static void expect_word(uint64_t opcode) {
  const uint64_t address = (uintptr_t)&memory.word;
  memory.word = 0x0123456789ABCDEF + opcode;
  require(call(opcode, &address, sizeof address) == WEFT_CALL_SUCCESS, "the kernel answers");
  require(memcmp(memory.answer + sizeof(struct weft_reply_head), &memory.word, 8) == 0, "it answers the word");
}

// ---- by itself

static void expect_refused(const struct weft_bytecode* wanted, const char* name) {
  struct weft_bytecode_verdict verdict;
  require(weftdv_deploy_bytecode(context, wanted, &verdict) == EINVAL, name);
  fprintf(stderr, "%s: %s\n", verdict.name, verdict.meaning);
  require(strcmp(verdict.name, name) == 0, name);
}

static void local(void) {
  struct weft_bytecode_verdict verdict;
  struct weft_bytecode wanted = wanted_of("where", NULL, kOpcode);
  for (int n = 0; n < 10; ++n) {  // deployed, and replaced
    wanted.flags = n % 2 == 0 ? 0 : WEFT_BYTECODE_INTERPRET;
    require(weftdv_deploy_bytecode(context, &wanted, &verdict) == 0, "bytecode is deployed");
    require(verdict.fault == 0 && verdict.instructions == 17, "its verdict is good");
    require(!(verdict.compiled && n % 2 != 0), "it is interpreted if that is wanted");
    expect_word(kOpcode);
  }
  struct weft_kernel listed;
  require(weftdv_list_kernels(context, &listed, 1) == 1 && strcmp(listed.name, "where") == 0, "it is listed");
  require(weftdv_remove_kernel(context, kOpcode) == 0, "it is removed");
  const uint64_t address = 0;
  require(call(kOpcode, &address, sizeof address) == WEFT_CALL_NO_SUCH_KERNEL, "it is gone");

  wanted = wanted_of("outside", "weft/constant", kOpcode);
  expect_refused(&wanted, "object_relocated");
  wanted = wanted_of("two", NULL, kOpcode);
  expect_refused(&wanted, "object_many_sections");
  wanted.section = "weft/third";
  expect_refused(&wanted, "object_no_section");
  wanted = wanted_of("sum", NULL, kOpcode);
  wanted.state_bytes = 8;
  expect_refused(&wanted, "out_of_bounds");
  wanted.object_bytes = 100;
  expect_refused(&wanted, "object_truncated");
  printf("deployed\n");
}

// ---- as a peer

static struct weft_deployment_answer ask(const struct weft_deployment_key* key, uint64_t number,
                                         enum weft_deployment_action action, const struct weft_bytecode* wanted) {
  struct weft_deployment_request request;
  struct weft_deployment_answer answer;
  require(weft_make_deployment_request(&request, key, server->qp_num, number, action, wanted), "there is a request");
  if (action == WEFT_DEPLOY) {
    struct ibv_sge sge = {
        .addr = (uintptr_t)wanted->object, .length = (uint32_t)wanted->object_bytes, .lkey = mr->lkey};
    const struct weftdv_rpc_write payload = {.opcode = WEFT_KERNEL_DEPLOYMENT,
                                             .rkey = mr->rkey,
                                             .sg_list = &sge,
                                             .num_sge = 1,
                                             .send_flags = IBV_SEND_SIGNALED};
    require(weftdv_post_rpc_write(caller, &payload) == 0, "the object is posted");
    (void)next_success();
  }
  require(call(WEFT_KERNEL_DEPLOYMENT, &request, sizeof request) == WEFT_CALL_SUCCESS, "the request is answered");
  memcpy(&answer, memory.answer + sizeof(struct weft_reply_head), sizeof answer);
  return answer;
}

static void peer(void) {
  const struct weft_deployment_rights rights = {.first_opcode = kGranted,
                                                .last_opcode = kGranted + 9,
                                                .most_kernels = 2,
                                                .most_state_bytes = 4096,
                                                .most_steps = 100,
                                                .most_instances = 16};
  struct weft_deployment_key key, wrong;
  uint64_t number = 0;
  require(weftdv_allow_deployment(caller, &rights, &key) == EOPNOTSUPP,
          "a queue pair that serves nobody grants nothing");
  require(weftdv_forbid_deployment(server) == EINVAL, "nothing has been granted");
  require(weftdv_allow_deployment(server, &rights, &key) == 0, "the server allows it");
  struct weft_bytecode wanted = wanted_of("where", NULL, kGranted);
  wrong = key;
  wrong.bytes[31] ^= 1;
  require(ask(&wrong, ++number, WEFT_DEPLOY, &wanted).outcome == WEFT_DEPLOYMENT_WRONG_KEY,
          "another key opens nothing");
  for (int n = 0; n < 5; ++n) {  // deployed, and replaced
    require(ask(&key, ++number, WEFT_DEPLOY, &wanted).outcome == WEFT_DEPLOYMENT_DONE, "it is deployed");
    expect_word(kGranted);
  }
  require(ask(&key, number, WEFT_DEPLOY, &wanted).outcome == WEFT_DEPLOYMENT_REPLAYED, "once");
  wanted.opcode = kOpcode;
  require(ask(&key, ++number, WEFT_DEPLOY, &wanted).outcome == WEFT_DEPLOYMENT_BEYOND_RIGHTS, "within its rights");
  wanted = wanted_of("outside", "weft/function", kGranted + 1);
  const struct weft_deployment_answer refused = ask(&key, ++number, WEFT_DEPLOY, &wanted);
  require(refused.outcome == WEFT_DEPLOYMENT_REFUSED, "hostile bytecode is refused");
  require(strcmp(weft_bytecode_fault_name(refused.fault), "object_relocated") == 0, "with its reason");
  expect_word(kGranted);
  wanted = wanted_of("where", NULL, kGranted);
  require(ask(&key, ++number, WEFT_REMOVE, &wanted).outcome == WEFT_DEPLOYMENT_DONE, "it is removed");
  require(weftdv_forbid_deployment(server) == 0, "the server forbids it");
  require(ask(&key, ++number, WEFT_DEPLOY, &wanted).outcome == WEFT_DEPLOYMENT_NOT_ALLOWED, "and means it");
  printf("deployed\n");
}

static void missing(void) {
  struct weft_bytecode_verdict verdict;
  const struct weft_bytecode wanted = wanted_of("where", NULL, kOpcode);
  require(weftdv_deploy_bytecode(context, &wanted, &verdict) == EOPNOTSUPP, "there is no library");
  printf("%s\n", verdict.meaning);
}

int main(int argc, char** argv) {
  require(argc == 3, "what it does, and the folder");
  folder = argv[2];
  open_device();
  make_pair();
  if (strcmp(argv[1], "local") == 0) local();
  if (strcmp(argv[1], "peer") == 0) peer();
  if (strcmp(argv[1], "missing") == 0) missing();
  return 0;
}
