// A coroutine of the simulated world: an application, or a part of one. It starts when it is awaited or spawned
// (weft/simulation.h), and what it throws comes out where it is awaited, or where the simulation was run.
//
//   weft::Task<int> part(weft::Simulation& sim) { co_await sim.sleep(weft::Duration::microseconds(3)); co_return 7; }
//   weft::Task<> application(weft::Simulation& sim) { const int seven = co_await part(sim); ... }
//
// A lambda that is a coroutine must outlive it: its captures stay in the lambda. Pass what it needs as arguments.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace weft {

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation;
  std::exception_ptr failure;

  // Whoever awaited goes on inside of this call. It may destroy this coroutine, so nothing is touched afterwards. The
  // stack grows with how deep tasks are nested, not with how many there were: a child that ends before it ever waited
  // returns to its parent instead (Task::Awaiter). Transferring control would do the same, but not in unoptimized code.
  struct Final {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      if (const std::coroutine_handle<> next = done.promise().continuation) next.resume();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
  void rethrow() const {
    if (failure) std::rethrow_exception(failure);
  }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T result() {
    rethrow();
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  void return_void() noexcept {}
  void result() const { rethrow(); }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::Promise<T> {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> child) : child_(child) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> parent) {
      child_.resume();
      if (child_.done()) return false;
      child_.promise().continuation = parent;
      return true;
    }
    T await_resume() { return child_.promise().result(); }

   private:
    std::coroutine_handle<promise_type> child_;
  };
  Awaiter operator co_await() && { return Awaiter(handle_); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace weft
