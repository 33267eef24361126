#include "real_parts/fiber.h"

#include <cassert>
#include <utility>
#include <vector>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::scene {
namespace {

// makecontext() takes no pointers: who is entered stands here.
Fiber*& entered() {
  static Fiber* fiber = nullptr;
  return fiber;
}

// A swarm needs thousands of stacks, few at a time.
std::vector<void*>& spare_stacks() {
  static std::vector<void*> stacks;
  return stacks;
}

}  // namespace

struct Fiber::Stack {
  Stack() {
    if (!spare_stacks().empty()) {
      at = spare_stacks().back();
      spare_stacks().pop_back();
      return;
    }
    at = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(at != MAP_FAILED);
  }
  ~Stack() { spare_stacks().push_back(at); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* at = nullptr;
};

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(std::make_unique<Stack>()) {
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_->at;
  here_.uc_stack.ss_size = kStackBytes;
  here_.uc_link = nullptr;
  makecontext(&here_, &Fiber::enter, 0);
#if defined(__SANITIZE_THREAD__)
  thread_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(thread_);
#endif
}

void Fiber::enter() { entered()->run(); }

void Fiber::run() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &resumers_stack_, &resumers_bytes_);
#endif
  body_();
  over_ = true;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, resumers_stack_, resumers_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(resumers_thread_, 0);
#endif
  setcontext(&resumer_);
}

void Fiber::resume() {
  assert(!over_);
  entered() = this;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&resumers_fake_stack_, stack_->at, kStackBytes);
#endif
#if defined(__SANITIZE_THREAD__)
  resumers_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_, 0);
#endif
  swapcontext(&resumer_, &here_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(resumers_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::pause() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fake_stack_, resumers_stack_, resumers_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(resumers_thread_, 0);
#endif
  swapcontext(&here_, &resumer_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, &resumers_stack_, &resumers_bytes_);
#endif
}

}  // namespace weft::scene
