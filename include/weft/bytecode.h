// Kernels as bytecode (docs/kernels.md): a C source with a step function as weft/kernel.h has it, compiled for eBPF and
// deployed while the program runs, by the program itself or over the network by a peer that it has authorised.
//
//   clang-14 -target bpf -mcpu=v2 -O2 -ffreestanding -I... -c where.c    # makes where.o
//
// It is checked before it runs, by Weft and by DPDK's verifier, and can reach its input, its state and its port and
// nothing else. Who deploys it needs libweft_bytecode.so.1 beside Weft's other libraries, and it DPDK's librte-bpf.
// Deploying is weftdv_deploy_bytecode() with verbs (weft/dv.h), and Device::deploy() in C++ (weft/device.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weft_bytecode {
  const void* object;  // what the compiler made, as it lies in its file
  size_t object_bytes;
  const char* section;  // "weft/NAME" of WEFT_KERNEL_CODE("NAME"); NULL: there is only one
  uint64_t opcode;
  const char* name;      // as in weft_kernel
  uint32_t state_bytes;  // at most 512 KB
  uint32_t most_steps;
  uint32_t instances;
  uint32_t flags;
};
enum {
  WEFT_BYTECODE_INTERPRET = 1,  // run it by the interpreter, even where it can be compiled (x86-64 and arm64)
};

struct weft_bytecode_verdict {
  uint32_t fault;         // 0: nothing is wrong
  uint32_t at;            // which instruction
  const char* name;       // of the fault, and a sentence
  const char* meaning;    //
  uint32_t instructions;  // of the program
  bool compiled;          // and not interpreted
};

// ---- deployed by a peer

// What the peer of a queue pair may do. There is no such right unless the server's program grants it.
struct weft_deployment_rights {
  uint64_t first_opcode, last_opcode;  // whose kernels it may deploy, replace and remove, if they are its own
  uint32_t most_kernels;
  uint32_t most_state_bytes, most_steps, most_instances;  // of each
};
// What the peer must have to do it: random bits. Whoever else has them and can send as this peer can do it, too. So
// they go to the peer in a way that nobody else hears.
struct weft_deployment_key {
  uint8_t bytes[32];
};

// RPC WRITE the object to this op-code, and call it with a weft_deployment_request.
#define WEFT_KERNEL_DEPLOYMENT (UINT64_MAX - 1)
enum { WEFT_MOST_DEPLOYED = 64 * 1024 };  // bytes of an object over the network

enum weft_deployment_action { WEFT_DEPLOY = 1, WEFT_REMOVE = 2 };

struct weft_deployment_request {
  uint32_t action;  // enum weft_deployment_action
  uint32_t object_bytes;
  uint64_t number;
  uint64_t opcode;
  uint32_t state_bytes, most_steps, instances, flags;
  char name[32], section[32];
  uint8_t mac[32];
};
// Fills in a request. `qpn` is the server's queue pair. `number` is larger than all before with this key: a copy of a
// request, whoever sends it, is refused. To remove a kernel, only its op-code counts. False: a name is longer than 31
// letters, or the object than it may be.
bool weft_make_deployment_request(struct weft_deployment_request* request, const struct weft_deployment_key* key,
                                  uint32_t qpn, uint64_t number, enum weft_deployment_action action,
                                  const struct weft_bytecode* bytecode);

enum weft_deployment_outcome {
  WEFT_DEPLOYMENT_NONE,
  WEFT_DEPLOYMENT_DONE,
  WEFT_DEPLOYMENT_NOT_ALLOWED,     // nobody has granted it to this queue pair's peer
  WEFT_DEPLOYMENT_BAD_REQUEST,     // it has another length, or asks for something that nobody knows
  WEFT_DEPLOYMENT_WRONG_KEY,       // or the request, or the object, is not the one that was made with it
  WEFT_DEPLOYMENT_REPLAYED,        // its number is not new
  WEFT_DEPLOYMENT_BEYOND_RIGHTS,   // an op-code, or more kernels, state, steps or instances, than was granted
  WEFT_DEPLOYMENT_OPCODE_TAKEN,    // by a kernel that this peer did not deploy
  WEFT_DEPLOYMENT_REFUSED,         // the bytecode: `fault` says why
  WEFT_DEPLOYMENT_NO_SUCH_KERNEL,  // to remove
};
// What the call answers, behind its weft_reply_head.
struct weft_deployment_answer {
  uint32_t outcome;  // enum weft_deployment_outcome
  uint32_t fault, at, instructions;
};
// The name and the sentence of a fault; "?" if there is none of this number.
const char* weft_bytecode_fault_name(uint32_t fault);
const char* weft_bytecode_fault_meaning(uint32_t fault);

#ifdef __cplusplus
}
#endif
