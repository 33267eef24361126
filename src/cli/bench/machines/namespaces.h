// Two network namespaces with two Ethernets between them, one of MTU 1500 and one of MTU 9000. They have no names, and
// end with the processes that keep them, which end with us, however we do.
#pragma once

#include <array>
#include <string>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "world/real/os/descriptor.h"

namespace weft::cli {

class TwoMachines {
 public:
  static constexpr std::array kMtus{1500, 9000};

  // Or a sentence that says why not.
  [[nodiscard]] static tl::expected<TwoMachines, std::string> make();

  TwoMachines(TwoMachines&& other) noexcept;
  TwoMachines& operator=(TwoMachines&&) = delete;
  ~TwoMachines();

  [[nodiscard]] int network(std::size_t machine) const { return machines_[machine].network.get(); }
  // Of a machine's (0, 1) device with kMtus[wire].
  [[nodiscard]] static std::string address(std::size_t machine, std::size_t wire, int ip_version);

 private:
  struct Machine {
    real::Descriptor network;
    pid_t keeper = -1;
  };
  TwoMachines() = default;
  [[nodiscard]] static tl::expected<Machine, std::string> make_machine();
  [[nodiscard]] tl::expected<void, std::string> join() const;

  std::array<Machine, 2> machines_;
};

}  // namespace weft::cli
