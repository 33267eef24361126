#include "verbs/rdmacm/fork.h"

#include <pthread.h>

#include "verbs/rdmacm/cm_agent.h"

namespace weft::rdmacm {

// Never destroyed: threads of the program may outlive the end of main.
EngineSlot& engine_slot() {
  static auto* const the = new EngineSlot;
  return *the;
}

void abandon_in_child() {
  EngineSlot& slot = engine_slot();
  if (slot.agent != nullptr) slot.agent->lost_.store(true, std::memory_order_relaxed);
  slot.agent = nullptr;
  slot.lock.unlock();
}

void watch_for_fork() {
  static const int installed =
      pthread_atfork([] { engine_slot().lock.lock(); }, [] { engine_slot().lock.unlock(); }, abandon_in_child);
  static_cast<void>(installed);  // without memory for it, the child of a fork has to behave
}

}  // namespace weft::rdmacm
