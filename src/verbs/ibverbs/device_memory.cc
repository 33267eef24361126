// Memory of the device's own. Here it is host memory that nobody else touches; programs for cards that have some run
// unchanged.
#include <cstring>

#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/host_address.h"
#include "verbs/ibverbs/limits.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/rights.h"

namespace weft::verbs {
namespace {

constexpr unsigned kAllowed = kCardAccess & ~static_cast<unsigned>(IBV_ACCESS_ON_DEMAND);  // it is always there

bool inside(const DeviceMemory& dm, std::uint64_t offset, std::size_t length) {
  return offset <= dm.size && length <= dm.size - offset;
}

int copy_in(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  if (!inside(ours(dm), offset, length)) return EFAULT;
  std::memcpy(ours(dm).at(offset), from, length);
  return 0;
}

int copy_out(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  if (!inside(ours(dm), offset, length)) return EFAULT;
  std::memcpy(to, ours(dm).at(offset), length);
  return 0;
}

}  // namespace

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) {
  constexpr std::uint32_t most_alignment = 6;  // atomics and cache lines; nobody has asked for more
  if (attr->comp_mask != 0) return refuse(EOPNOTSUPP);
  if (attr->length == 0 || attr->log_align_req > most_alignment) return refuse(EINVAL);
  Context& c = context_of(context);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  const std::uint64_t size = (attr->length + 63) & ~std::uint64_t{63};
  if (attr->length > kDeviceMemory || size > kDeviceMemory - c.device_memory) return refuse(ENOMEM);
  return attempt([&]() -> ibv_dm* {
    auto dm = std::make_unique<DeviceMemory>();
    dm->lines = std::make_unique<DeviceMemory::Line[]>(size / sizeof(DeviceMemory::Line));
    dm->context = context;
    dm->memcpy_to_dm = copy_in;
    dm->memcpy_from_dm = copy_out;
    dm->size = attr->length;
    c.device_memory += size;
    return dm.release();
  });
}

int free_dm(ibv_dm* dm) {
  Context& c = context_of(*dm);
  const Hold hold(c);
  if (!hold) return EIO;
  if (ours(dm).users != 0) return EBUSY;
  c.device_memory -= (ours(dm).size + 63) & ~std::uint64_t{63};
  delete &ours(dm);
  return 0;
}

// Addresses in such a region count from its beginning, and the kernel insists that programs say they know.
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned int access) {
  access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((access & IBV_ACCESS_ZERO_BASED) == 0 || (access & ~kAllowed) != 0) return refuse(EINVAL);
  DeviceMemory& from = ours(dm);
  if (!is_of(pd->context, dm) || length == 0 || !inside(from, offset, length)) return refuse(EINVAL);
  Context& c = context_of(*pd);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_mr* {
    auto mr = std::make_unique<Region>();
    const auto key = c.device.register_region(
        ours(pd).number, {.memory = from.at(offset), .length = length, .rights = rights_of(access)});
    if (!key) return refuse(key.error());
    mr->context = pd->context;
    mr->pd = pd;
    mr->length = length;
    mr->handle = mr->lkey = mr->rkey = key->raw();
    mr->key = *key;
    mr->device_memory = &from;
    ++from.users;
    ++ours(pd).users;
    return mr.release();
  });
}

}  // namespace weft::verbs
