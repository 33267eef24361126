// A function with a stack of its own, that can pause in the middle and be resumed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <ucontext.h>

namespace weft::scene {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it pauses or is over. Not from inside a fiber.
  void resume();
  // From inside.
  void pause();
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  static constexpr std::size_t kStackBytes = 1 << 20;
  struct Stack;

  static void enter();
  void run();

  std::function<void()> body_;
  std::unique_ptr<Stack> stack_;
  ucontext_t here_{}, resumer_{};
  bool over_ = false;
  // What sanitizers want to know of stacks.
  void* fake_stack_ = nullptr;
  void* resumers_fake_stack_ = nullptr;
  const void* resumers_stack_ = nullptr;
  std::size_t resumers_bytes_ = 0;
  void* thread_ = nullptr;
  void* resumers_thread_ = nullptr;
};

}  // namespace weft::scene
