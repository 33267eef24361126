// Posting to one queue pair's send queue. A small value, meant to be kept by whoever posts: it leads straight to the
// context, so that a program with thousands of connections waits for no object in between.
#pragma once

#include <cstddef>
#include <span>

#include "host/error.h"
#include "host/work_request.h"
#include "nic/context.h"

namespace weft::host {

class Device;

struct Poster {
  Device* device = nullptr;
  nic::Context* context = nullptr;

  [[nodiscard]] Error post(const WorkRequest& request) const;

  // Tells which posters come next, nearest first: what posting needs is fetched ahead, the context and then its entry.
  static void prefetch(std::span<const Poster> soon) {
    if (soon.size() > kFetchContext) {
      __builtin_prefetch(soon[kFetchContext].context, 1);
      __builtin_prefetch(&soon[kFetchContext].context->sq, 1);
    }
    if (soon.size() > kFetchEntry) {
      const nic::Context& c = *soon[kFetchEntry].context;
      __builtin_prefetch(c.sq + std::size_t{c.sq_posted & ((1U << c.sq_shift) - 1)} * c.sq_stride, 1);
    }
  }

 private:
  static constexpr std::size_t kFetchContext = 24, kFetchEntry = 12;  // how many posts ahead
};

}  // namespace weft::host
