// Shared memory of a descriptor, unmapped when its owner goes.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

namespace weft::real {

template <class T>
class Mapping {
 public:
  Mapping() = default;
  // Empty when the memory is smaller than it must be: touching it would end the program.
  static Mapping of(int fd) {
    struct stat facts {};
    Mapping out;
    if (fstat(fd, &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(T))) return out;
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
