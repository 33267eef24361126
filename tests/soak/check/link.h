// A reliable connection of a checking program: queue pair, completion queue and registered memory.
#pragma once

#include <span>
#include <vector>

#include "messages.h"

namespace soak {

// The card of this program.
struct Device {
  stress::Owned<ibv_context> context = stress::open_device();
  stress::Owned<ibv_pd> pd{stress::must(ibv_alloc_pd(context.get()), "ibv_alloc_pd")};
  ibv_gid gid{};

  Device() { stress::must(ibv_query_gid(context.get(), 1, 0, &gid), "ibv_query_gid"); }
};

struct Request {
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::uint64_t id = 0;
  std::size_t from = 0;  // an offset in this side's memory
  std::uint32_t bytes = 0;
  std::uint32_t pieces = 1;  // of the scatter/gather list, at most kPieces
  std::size_t to = 0;        // an offset in the other's
  std::uint32_t immediate = 0;
  std::uint64_t compare_add = 0, swap = 0;
  bool signaled = true, inlined = false;
};
inline constexpr std::uint32_t kPieces = 3, kInlineBytes = 64;

class Link {
 public:
  // `events`: completions raise events at channel(), else they are polled for.
  Link(Device& device, std::uint32_t receives, bool events);

  [[nodiscard]] stress::Address address() const;
  void connect(const stress::Address& peer);
  [[nodiscard]] std::span<std::byte> memory(std::size_t offset, std::size_t bytes) {
    return std::span(memory_).subspan(offset, bytes);
  }
  void send(const Request& request);
  void receive(std::uint64_t slot);
  [[nodiscard]] int channel() const { return channel_ ? channel_->fd : -1; }
  // The next completions; asks for the next event first if one has come.
  int poll(std::span<ibv_wc> completions);

 private:
  struct FreeChannel {
    void operator()(ibv_comp_channel* c) const {
      stress::must(ibv_destroy_comp_channel(c), "ibv_destroy_comp_channel");
    }
  };
  void take_events();

  ibv_gid gid_;
  std::vector<std::byte> memory_;
  std::unique_ptr<ibv_comp_channel, FreeChannel> channel_;
  stress::Owned<ibv_cq> cq_;
  stress::Owned<ibv_mr> mr_;
  stress::Owned<ibv_qp> qp_;
  stress::Address peer_;
};

}  // namespace soak
