// Posting to one queue pair's send queue. A small value, meant to be kept by whoever posts: it leads straight to the
// context, so that a program with thousands of connections waits for no object in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/prefetch.h"
#include "host/error.h"
#include "host/work_request.h"
#include "nic/context.h"
#include "nic/ring_entry.h"

namespace weft::host {

class Device;

struct Poster {
  Device* device = nullptr;
  nic::Context* context = nullptr;

  [[nodiscard]] Error post(const WorkRequest& request) const;

  // The entry that so many posts from now will write.
  void prefetch_entry(std::uint32_t ahead) const {
    weft::prefetch(nic::ring_entry(context->sq, context->sq_posted + ahead, context->sq_shift, context->sq_stride));
  }

  // Tells which posters come next, nearest first, and how much will be posted to each: what that needs is fetched
  // ahead, first the context and then its entries.
  static void prefetch(std::span<const Poster> soon, std::uint32_t entries = 1) {
    if (soon.size() > kFetchContext) {
      weft::prefetch(soon[kFetchContext].context);
      weft::prefetch(&soon[kFetchContext].context->sq);
    }
    if (soon.size() > kFetchEntry) {
      const nic::Context& c = *soon[kFetchEntry].context;
      for (std::uint32_t i = 0; i < entries; ++i) {
        weft::prefetch(nic::ring_entry(c.sq, c.sq_posted + i, c.sq_shift, c.sq_stride));
      }
    }
  }

 private:
  static constexpr std::size_t kFetchContext = 16, kFetchEntry = 8;  // how many posts ahead
};

}  // namespace weft::host
