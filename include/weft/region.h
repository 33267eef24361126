// Memory that the card may use. A region is memory of the program, with a key and rights; a window is a shared status
// to part of a region that work requests open and close.
//
// The memory stays the program's, and must stay where it is for as long as the region lives. The card reads and writes
// it while work is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/handle.h"
#include "weft/types.h"
#include "weft/work.h"

namespace weft {

class Domain;

struct RegionOptions {
  Access access = Access::none;
  // What work requests and peers call the first byte. Left open, the world chooses: a simulation counts, so that every
  // run is the same; a real machine takes where the memory is. Ignored with Access::zero_based.
  std::optional<std::uint64_t> address{};
};

class Region : public detail::Handle<Region, Key> {
 public:
  static constexpr std::string_view kName = "region";
  Region() = default;

  [[nodiscard]] Key key() const;
  [[nodiscard]] std::uint64_t address() const;  // of the first byte
  [[nodiscard]] std::uint64_t length() const;   // bytes
  [[nodiscard]] Access access() const;
  [[nodiscard]] std::span<std::byte> bytes() const;

  // Part of it for work requests here, and a place in it for those of peers. `offset` is in bytes from the start.
  [[nodiscard]] Sge sge(std::uint64_t offset, std::uint32_t length) const {
    return {address() + offset, length, key()};
  }
  [[nodiscard]] Sge sge() const { return sge(0, static_cast<std::uint32_t>(length())); }  // all of it
  [[nodiscard]] RemoteAddress remote(std::uint64_t offset = 0) const { return {address() + offset, key()}; }

  // Changes what is given and keeps the rest, the key as well. Refused while windows are bound to it.
  struct Change {
    const Domain* domain = nullptr;
    std::optional<std::span<std::byte>> memory{};
    std::optional<std::uint64_t> address{};  // with `memory`, as in RegionOptions
    std::optional<Access> access{};
  };
  [[nodiscard]] Result<> reregister(const Change& change);

 private:
  friend class detail::Handle<Region, Key>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, Key key);
};

enum class WindowType : std::uint8_t {
  one = 1,  // open to every queue pair of the domain; bound again at will
  two = 2,  // open to the queue pair that bound it; must be invalidated before it is bound again
};

class Window : public detail::Handle<Window, Key> {
 public:
  static constexpr std::string_view kName = "window";
  Window() = default;

  [[nodiscard]] Key key() const;  // it changes with every binding
  [[nodiscard]] bool bound() const;

  // The work that opens it onto part of a region, under the next variant of its key: post it as Verb::bind_window, and
  // tell the peer its new_key once it has completed.
  [[nodiscard]] WindowBinding onto(const Region& region, std::uint64_t offset, std::uint64_t length,
                                   Access access) const {
    return {key(), region.key(), region.address() + offset, length, access, key().next_variant()};
  }
  // The work that closes it again, if it is of type 1.
  [[nodiscard]] WindowBinding onto_nothing() const { return {.window = key(), .new_key = key().next_variant()}; }

 private:
  friend class detail::Handle<Window, Key>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, Key key);
};

}  // namespace weft
