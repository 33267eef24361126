#include "deploy.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "common/address.h"

namespace kv {
namespace {

constexpr const char* kOutcomes[] = {"",
                                     "done",
                                     "this client may not deploy",
                                     "the request makes no sense",
                                     "it was not made with the key",
                                     "it is a copy",
                                     "it is more than was granted",
                                     "another kernel has the op-code",
                                     "the bytecode is refused",
                                     "there is no such kernel"};

// What the card reads and writes: the object, and the answer to the call.
struct Room {
  weft_reply_head head;
  weft_deployment_answer answer;
};

void wait_for(ibv_cq* cq, int completions) {
  while (completions != 0) poll_cq(cq, [&](const ibv_wc&) { --completions; });
}

}  // namespace

std::uint64_t deploy(RemoteTable& table, const std::string& object_file) {
  std::ifstream file(object_file, std::ios::binary);
  const std::string object((std::istreambuf_iterator<char>(file)), {});
  if (object.empty()) give_up("there is no " + object_file + ": it is get.c, compiled for eBPF");
  const Answer& granted = table.first();
  if (granted.opcode == 0)
    give_up("the server allows no deployment: weft-kv serve --deploy yes, with DPDK's librte-bpf");
  const weft_bytecode wanted{.object = object.data(),
                             .object_bytes = object.size(),
                             .section = nullptr,
                             .opcode = granted.opcode,
                             .name = "get of a client",
                             .state_bytes = 64,
                             .most_steps = 100,
                             .instances = 4096,
                             .flags = 0};
  weft_deployment_request request{};
  if (!weft_make_deployment_request(&request, &granted.key, granted.endpoint.qpn, 1, WEFT_DEPLOY, &wanted))
    give_up(object_file + " is too large");

  std::vector<std::byte> memory(sizeof(Room) + object.size());
  std::memcpy(memory.data() + sizeof(Room), object.data(), object.size());
  ibv_mr* const mr = table.card().register_memory(memory);
  ibv_qp* const qp = table.qp(0);
  ibv_sge whole{number_of(memory.data() + sizeof(Room)), static_cast<std::uint32_t>(object.size()), mr->lkey};
  weftdv_rpc_write payload{};
  payload.opcode = WEFT_KERNEL_DEPLOYMENT;
  payload.rkey = table.rkey();
  payload.sg_list = &whole;
  payload.num_sge = 1;
  payload.send_flags = IBV_SEND_SIGNALED;
  if (const int code = weftdv_post_rpc_write(qp, &payload); code != 0) give_up(std::strerror(code));
  // The head lies in memory of ours, before the parameters.
  std::vector<std::byte> parameters(sizeof(weft_call_head) + sizeof request);
  std::memcpy(parameters.data() + sizeof(weft_call_head), &request, sizeof request);
  ibv_mr* const parameters_mr = table.card().register_memory(parameters);
  ibv_sge all{number_of(parameters.data()), static_cast<std::uint32_t>(parameters.size()), parameters_mr->lkey};
  weftdv_rpc call{};
  call.opcode = WEFT_KERNEL_DEPLOYMENT;
  call.rkey = table.rkey();
  call.sg_list = &all;
  call.num_sge = 1;
  call.send_flags = IBV_SEND_SIGNALED;
  call.answer_addr = number_of(memory.data());
  call.answer_rkey = mr->rkey;
  call.answer_length = sizeof(Room);
  if (const int code = weftdv_post_rpc(qp, &call); code != 0) give_up(std::strerror(code));
  wait_for(table.card().cq(), 2);

  Room& room = *place_of<Room>(number_of(memory.data()));
  ibv_wc unexpected;
  while (std::atomic_ref(room.head.outcome).load(std::memory_order_acquire) == WEFT_CALL_NONE) {
    if (ibv_poll_cq(table.card().cq(), 1, &unexpected) != 0) give_up("the deployment's call broke the connection");
  }
  if (room.head.outcome != WEFT_CALL_SUCCESS || room.answer.outcome != WEFT_DEPLOYMENT_DONE) {
    const char* why = room.answer.outcome < std::size(kOutcomes) ? kOutcomes[room.answer.outcome] : "?";
    give_up(std::string("cannot deploy ") + object_file + ": " + why + " (" +
            weft_bytecode_fault_meaning(room.answer.fault) + ", instruction " + std::to_string(room.answer.at) + ")");
  }
  ibv_dereg_mr(parameters_mr);
  ibv_dereg_mr(mr);
  return granted.opcode;
}

}  // namespace kv
