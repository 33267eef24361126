// Posting to one queue pair's send queue. A small value, meant to be kept by whoever posts: it leads straight to the
// context, so that a program with thousands of connections waits for no object in between.
#pragma once

#include <cstddef>
#include <span>

#include "base/prefetch.h"
#include "host/error.h"
#include "host/work_request.h"
#include "nic/context.h"
#include "nic/host_memory.h"

namespace weft::host {

class Device;

struct Poster {
  Device* device = nullptr;
  nic::Context* context = nullptr;

  [[nodiscard]] Error post(const WorkRequest& request) const;

  // Tells which posters come next, nearest first: what posting needs is fetched ahead, the context and then its entry.
  static void prefetch(std::span<const Poster> soon) {
    if (soon.size() > kFetchContext) {
      weft::prefetch(soon[kFetchContext].context);
      weft::prefetch(&soon[kFetchContext].context->sq);
    }
    if (soon.size() > kFetchEntry) {
      const nic::Context& c = *soon[kFetchEntry].context;
      weft::prefetch(nic::ring_entry(c.sq, c.sq_posted, c.sq_shift, c.sq_stride));
    }
  }

 private:
  static constexpr std::size_t kFetchContext = 16, kFetchEntry = 8;  // how many posts ahead
};

}  // namespace weft::host
