// A kernel: a function of a program that runs on its card, between the transport and host memory. Peers call it by its
// op-code, in one round trip, and its answer is written into the caller's memory (docs/kernels.md). For C and C++: a
// kernel looks the same to programs that use verbs (weft/dv.h), to those that use Weft's own interface (weft/device.h),
// and in a simulation.
//
// The card calls `step` with what has happened, and `step` says what it wants next. So its loop is a loop of steps, and
// its variables lie in `state`. A step is about a packet's worth of work: the card does nothing else meanwhile. It may
// be called on any thread of the program's process, one step at a time.
//
//   enum weft_kernel_next where_is_it(struct weft_kernel_step *s) {      // answers 8 bytes of the server's memory
//     if (s->event == WEFT_KERNEL_CALL) return weft_kernel_read(s, *(const uint64_t *)s->input, 8);
//     return weft_kernel_reply(s, s->input, s->input_bytes) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
//   }
//
// The same source compiled for eBPF is bytecode, which can be deployed at run time, over the network, too:
// weft/bytecode.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Why a step is taken.
enum weft_kernel_event {
  WEFT_KERNEL_CALL,     // somebody calls: `input` has the parameters
  WEFT_KERNEL_PAYLOAD,  // so much of an RPC WRITE, in order
  WEFT_KERNEL_DATA,     // what the step before wanted to read
  WEFT_KERNEL_MORE,     // the step before wanted another one
};

// What a step wants to come next.
enum weft_kernel_next {
  WEFT_KERNEL_READ,    // what weft_kernel_read() says
  WEFT_KERNEL_AGAIN,   // another step
  WEFT_KERNEL_WAIT,    // payload, or a call; one that is being answered has its answer
  WEFT_KERNEL_DONE,    // nothing: the call has its answer, and the state is gone
  WEFT_KERNEL_FAILED,  // nothing, and the caller is told so
  WEFT_KERNEL_RETRY,   // this step again, when there is room for what weft_kernel_send() found none for, with what is
                       // left of its input behind `taken`
};

enum { WEFT_KERNEL_MOST_READ = 4096, WEFT_KERNEL_MOST_REPLY = 4096 };  // bytes, of one step
enum { WEFT_KERNEL_MOST_SEND = 4096 };                                 // bytes, of one send

// Where a send goes: memory of the peer of one of this device's queue pairs, which is of the protection domain of the
// one that the call was posted to, and was made for local calls as well.
struct weft_kernel_target {
  uint64_t address;
  uint32_t key;  // the peer's
  uint32_t qpn;  // 0: the one that the call was posted to
};
enum weft_kernel_sent {
  WEFT_KERNEL_SENT,
  WEFT_KERNEL_FULL,     // not now: as much is under way as may be
  WEFT_KERNEL_REFUSED,  // it may not, the caller is told so, and this step was the last
};

#ifdef __bpf__

// As a kernel sees it that is compiled for eBPF (weft/bytecode.h). Its input and its state lie in the step itself,
// where the card can check what it reaches: they are used by the same names, and nothing else is there.
struct weft_kernel_step {
  uint32_t event;  // enum weft_kernel_event
  uint32_t qpn;
  uint32_t input_bytes;
  bool last;
  bool is_local;
  uint64_t offset;
  uint64_t opcode;
  uint64_t read_address;
  uint32_t read_bytes;
  uint32_t taken;
  unsigned char small[64];
  unsigned char input[WEFT_KERNEL_MOST_READ];
  unsigned char state[] __attribute__((aligned(16)));
};
#define WEFT_KERNEL_CODE(name) __attribute__((section("weft/" name), used))

#else

#define WEFT_KERNEL_CODE(name)

struct weft_kernel_step;

// What else a step may do; see weft_kernel_write(), weft_kernel_reply() and weft_kernel_send().
struct weft_kernel_port {
  bool (*write)(struct weft_kernel_step* step, uint64_t address, const void* data, uint32_t bytes);
  bool (*reply)(struct weft_kernel_step* step, const void* data, uint32_t bytes);
  enum weft_kernel_sent (*send)(struct weft_kernel_step* step, const struct weft_kernel_target* to, const void* data,
                                uint32_t bytes);
};

struct weft_kernel_step {
  uint32_t event;  // enum weft_kernel_event
  uint32_t qpn;    // of the queue pair here that the caller is connected with
  const void* input;
  uint32_t input_bytes;
  bool last;        // payload: nothing follows of this RPC WRITE
  bool is_local;    // the program of this host calls, and not the peer
  uint64_t offset;  // payload: where in the RPC WRITE
  void* state;      // zeros when it begins; aligned for anything
  uint64_t opcode;  // that is called

  uint64_t read_address;  // weft_kernel_read()'s
  uint32_t read_bytes;
  uint32_t taken;  // to be said with WEFT_KERNEL_RETRY: bytes of the input that are done with

  const struct weft_kernel_port* port;
  void* card;     // the port's
  void* context;  // the kernel's, as it was deployed
};

#endif

// To be returned: so many bytes of the server's memory are the next step's input. The memory is what the call's key
// opens, with the rights of the connection.
static inline enum weft_kernel_next weft_kernel_read(struct weft_kernel_step* step, uint64_t address, uint32_t bytes) {
  step->read_address = address;
  step->read_bytes = bytes;
  return WEFT_KERNEL_READ;
}
#ifdef __bpf__
// The port's calls: numbers that the card's programs know. What is handed over is named by its place in the step. What
// lies on the stack, or in registers, has none, and goes through `small` if it is no longer than that.
static bool (*const weft_bytecode_write)(uint64_t address, uint64_t offset, uint64_t bytes) = (void*)1;
static bool (*const weft_bytecode_reply)(uint64_t offset, uint64_t bytes, uint64_t zero) = (void*)2;
static uint64_t (*const weft_bytecode_send)(uint64_t address, uint64_t key, uint64_t qpn, uint64_t offset,
                                            uint64_t bytes) = (void*)3;
#define WEFT_BYTECODE_IS_SMALL(bytes) (__builtin_constant_p(bytes) && (bytes) <= 64)
static inline __attribute__((always_inline)) bool weft_kernel_write(struct weft_kernel_step* step, uint64_t address,
                                                                    const void* data, uint32_t bytes) {
  uint64_t offset = (uint64_t)data - (uint64_t)step;
  if (WEFT_BYTECODE_IS_SMALL(bytes)) {
    __builtin_memcpy(step->small, data, bytes);
    offset = __builtin_offsetof(struct weft_kernel_step, small);
  }
  return weft_bytecode_write(address, offset, bytes);
}
static inline __attribute__((always_inline)) bool weft_kernel_reply(struct weft_kernel_step* step, const void* data,
                                                                    uint32_t bytes) {
  uint64_t offset = (uint64_t)data - (uint64_t)step;
  if (WEFT_BYTECODE_IS_SMALL(bytes)) {
    __builtin_memcpy(step->small, data, bytes);
    offset = __builtin_offsetof(struct weft_kernel_step, small);
  }
  return weft_bytecode_reply(offset, bytes, 0);
}
static inline __attribute__((always_inline)) enum weft_kernel_sent weft_kernel_send(struct weft_kernel_step* step,
                                                                                    const struct weft_kernel_target* to,
                                                                                    const void* data, uint32_t bytes) {
  uint64_t offset = (uint64_t)data - (uint64_t)step;
  if (WEFT_BYTECODE_IS_SMALL(bytes)) {
    __builtin_memcpy(step->small, data, bytes);
    offset = __builtin_offsetof(struct weft_kernel_step, small);
  }
  return (enum weft_kernel_sent)weft_bytecode_send(to->address, to->key, to->qpn, offset, bytes);
}
#else
// Writes there. False: it may not, the caller is told so, and this step was the last.
static inline bool weft_kernel_write(struct weft_kernel_step* step, uint64_t address, const void* data,
                                     uint32_t bytes) {
  return step->port->write(step, address, data, bytes);
}
// Adds to the answer. False: it is too long for a step or for the caller's room, the caller is told so, and this step
// was the last.
static inline bool weft_kernel_reply(struct weft_kernel_step* step, const void* data, uint32_t bytes) {
  return step->port->reply(step, data, bytes);
}
// A WRITE to a peer, of at most WEFT_KERNEL_MOST_SEND bytes, which are copied. Only for kernels that are called by the
// program of this host (is_local). Full: say how much of the input is `taken`, and return WEFT_KERNEL_RETRY.
static inline enum weft_kernel_sent weft_kernel_send(struct weft_kernel_step* step, const struct weft_kernel_target* to,
                                                     const void* data, uint32_t bytes) {
  return step->port->send(step, to, data, bytes);
}
#endif

// A kernel of this op-code is called by all that no other kernel has.
#define WEFT_KERNEL_ANY UINT64_MAX

struct weft_kernel {
  uint64_t opcode;
  const char* name;  // for people who list them; copied
  enum weft_kernel_next (*step)(struct weft_kernel_step* step);
  uint32_t state_bytes;  // at most 1 MB
  uint32_t most_steps;   // for one call, or one packet of payload; then it is stopped
  uint32_t instances;    // that may be under way at once, of all connections together: 1 ... 4096
  void* context;         // what all its steps are to know
};

// How a call begins: where its answer goes, in the caller's memory. Parameters follow.
struct weft_call_head {
  uint64_t address;
  uint32_t key;
  uint32_t room;       // bytes there, the answer's head included; 0: no answer is wanted
  uint32_t immediate;  // that comes with the answer's completion,
  uint32_t flags;      //   if this is WEFT_CALL_COMPLETES: the answer takes a receive of the caller's
};
enum { WEFT_CALL_COMPLETES = 1 };

enum weft_call_outcome {
  WEFT_CALL_NONE,  // there is no answer yet
  WEFT_CALL_SUCCESS,
  WEFT_CALL_NO_SUCH_KERNEL,  // none is deployed for the op-code
  WEFT_CALL_FAILED,          // the kernel said so
  WEFT_CALL_STOPPED,         // it took more steps than it may
  WEFT_CALL_DENIED,          // it wanted memory that the call's key does not open
  WEFT_CALL_TOO_LONG,        // the answer did not fit in the room for it
  // Of local calls alone:
  WEFT_CALL_BUSY,         // as many are under way as the kernel has instances
  WEFT_CALL_UNDELIVERED,  // a queue pair that it has sent on has broken
};

// How an answer begins. It is written after all that follows it, in one piece if its address is a multiple of eight:
// who sees an outcome sees the rest, too.
struct weft_reply_head {
  uint32_t outcome;  // enum weft_call_outcome
  uint32_t bytes;    // that follow
};

#ifdef __cplusplus
}
#endif
