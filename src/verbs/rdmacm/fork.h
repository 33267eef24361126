// What a fork does to the connection manager: it stays with the parent. The child begins with none, and what it
// inherited answers EIO.
#pragma once

#include <mutex>

namespace weft::rdmacm {

class CmAgent;

// Guards the one agent of this process; locked across a fork.
struct EngineSlot {
  std::mutex lock;
  CmAgent* agent = nullptr;
};

EngineSlot& engine_slot();
void watch_for_fork();

}  // namespace weft::rdmacm
