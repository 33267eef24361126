#include "verbs/ibverbs/all_contexts.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include <infiniband/verbs.h>
#include <pthread.h>

#include "verbs/ibverbs/context.h"

namespace weft::verbs {
namespace {

struct All {
  std::mutex lock;
  std::vector<Context*> contexts;
  bool installed = false;
};

// Never destroyed: contexts may outlive the end of main.
All& all() {
  static auto* const the = new All;
  return *the;
}

void before() { all().lock.lock(); }
void in_parent() { all().lock.unlock(); }
void in_child() {
  for (Context* c : all().contexts) c->lose();
  all().contexts.clear();
  all().lock.unlock();
}

// A thread that the program has ended in the middle of a call keeps its lock for ever: nobody waits for it longer than
// a call can take.
template <class Lock>
bool patiently(Lock& mutex) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (mutex.try_lock()) return true;
    std::this_thread::yield();
  }
  return false;
}

__attribute__((destructor)) void at_the_end() {
  if (!patiently(all().lock)) return;
  for (Context* c : all().contexts) {
    if (!patiently(c->lane.lock())) continue;
    c->settle_debts();
    c->lane.lock().unlock();
  }
  all().lock.unlock();
}

}  // namespace

void enlist(Context& context) {
  const std::lock_guard lock(all().lock);
  all().contexts.push_back(&context);
  if (!all().installed) all().installed = pthread_atfork(before, in_parent, in_child) == 0;
}

void strike(Context& context) {
  const std::lock_guard lock(all().lock);
  std::erase(all().contexts, &context);
}

}  // namespace weft::verbs

// The card copies with the processor, through the program's own page tables: fork changes nothing for it.
extern "C" {

int ibv_fork_init() { return 0; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void*, size_t) { return 0; }
int ibv_dofork_range(void*, size_t) { return 0; }

}  // extern "C"
