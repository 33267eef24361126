// Memory that programs share: made so that none of them can take it away from the others, and mapped until its owner
// goes.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "world/real/os/descriptor.h"

namespace weft::real {

// Memory that keeps this size for ever, whoever has a descriptor of it. Empty, and errno, if there is none to be had.
inline Descriptor make_shared_memory(const char* name, std::size_t bytes) {
  Descriptor memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool made = memory && ftruncate(memory.get(), static_cast<off_t>(bytes)) == 0 &&
                    fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!made) memory.reset();
  return memory;
}

// Touching what is not there, or what somebody has cut off since we looked, would end the program.
inline bool has_for_ever(int fd, std::size_t bytes) {
  const int seals = fcntl(fd, F_GET_SEALS);
  struct stat facts {};
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &facts) == 0 &&
         facts.st_size >= static_cast<off_t>(bytes);
}

// A copy of what stands there now, without mapping it. False: nothing does.
template <class T>
bool read_shared(int fd, std::size_t at, T& out) {
  return pread(fd, &out, sizeof out, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof out);
}

template <class T>
class Mapping {
 public:
  Mapping() = default;
  // Empty when the memory is smaller than it must be, or could become so.
  static Mapping of(int fd) {
    Mapping out;
    if (!has_for_ever(fd, sizeof(T))) return out;
    void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) out.object_ = std::launder(static_cast<T*>(at));
    return out;
  }
  Mapping(Mapping&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Mapping() {
    if (object_ != nullptr) munmap(object_, sizeof(T));
  }

  [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }
  [[nodiscard]] T* get() const { return object_; }
  [[nodiscard]] T* operator->() const { return object_; }
  [[nodiscard]] T& operator*() const { return *object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace weft::real
