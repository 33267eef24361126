// Memory regions.
#include <cstdint>

#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/host_address.h"
#include "verbs/ibverbs/operations.h"
#include "verbs/ibverbs/rights.h"
#include "world/real/os/pages.h"

namespace weft::verbs {
namespace {

struct RegionRequest {
  void* memory;
  std::size_t length;
  std::uint64_t iova;
  unsigned access;

  [[nodiscard]] bool on_demand() const { return (access & IBV_ACCESS_ON_DEMAND) != 0; }
  // All of the program's memory, whatever it will be.
  [[nodiscard]] bool implicit() const { return on_demand() && memory == nullptr && length == SIZE_MAX; }
  [[nodiscard]] bool writable() const {
    return (access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  }
};

// The lowest page is never a program's; so no region begins at null.
constexpr std::uint64_t kFirstAddress = 4096;

host::RegionOptions region_options(const RegionRequest& r) {
  if (r.implicit()) {
    return {.memory = place_of(kFirstAddress),
            .length = SIZE_MAX - kFirstAddress,
            .address = kFirstAddress,
            .rights = rights_of(r.access)};
  }
  return {
      .memory = place_of(number_of(r.memory)), .length = r.length, .address = r.iova, .rights = rights_of(r.access)};
}

// 0 or errno. Takes time for large memory, so it runs without the lane's lock. On-demand memory need not be there yet.
int judge(const RegionRequest& r) {
  if ((r.access & ~kRegionAccess) != 0) return EINVAL;
  if (r.implicit()) return 0;
  const std::uint64_t first = number_of(r.memory);
  if (r.memory == nullptr || r.length == 0 || first + (r.length - 1) < first) return EINVAL;
  return r.on_demand() || real::pages_are_there(place_of(first), r.length, r.writable()) ? 0 : EFAULT;
}

ibv_mr* register_region(ibv_pd* pd, RegionRequest r) {
  r.access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);  // hints that a device may ignore
  if (const int code = judge(r); code != 0) return refuse(code);
  Context& c = context_of(*pd);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_mr* {
    auto mr = std::make_unique<Region>();
    const auto key = c.device.register_region(ours(pd).number, region_options(r));
    if (!key) return refuse(key.error());
    mr->context = pd->context;
    mr->pd = pd;
    mr->addr = r.memory;
    mr->length = r.length;
    mr->handle = mr->lkey = mr->rkey = key->raw();
    mr->key = *key;
    mr->memory = r.memory;
    mr->bytes = r.length;
    mr->access = r.access;
    ++ours(pd).users;
    return mr.release();
  });
}

int reregister(ibv_mr* mr, unsigned flags, ibv_pd* pd, RegionRequest r) {
  const bool translation = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  const bool domain = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if ((flags & ~static_cast<unsigned>(IBV_REREG_MR_FLAGS_SUPPORTED)) != 0 || flags == 0) return EINVAL;
  if ((domain && !is_of(mr->context, pd)) || ours(mr).device_memory != nullptr) return EINVAL;
  if (!access) r.access = ours(mr).access;
  if (((r.access | ours(mr).access) & IBV_ACCESS_ON_DEMAND) != 0) return EOPNOTSUPP;
  // What stays of the region must suit what changes.
  Region& region = ours(mr);
  const RegionRequest whole =
      translation ? r : RegionRequest{region.memory, region.bytes, number_of(region.memory), r.access};
  if (translation || access) {
    if (const int code = judge(whole); code != 0) return code;
  }
  Context& c = context_of(*mr);
  const Hold hold(c);
  if (!hold) return EIO;
  const host::RegionOptions options = region_options(r);
  const auto new_domain = domain ? std::optional(ours(pd).number) : std::nullopt;
  const auto new_rights = access ? std::optional(options.rights) : std::nullopt;
  const int code =
      errno_of(c.device.reregister_region(region.key, new_domain, translation ? &options : nullptr, new_rights));
  if (code != 0) return code;
  if (c.device.doorbells_waiting()) c.lane.rang();  // StaR's peers are told
  region.access = r.access;
  if (translation) {
    mr->addr = region.memory = r.memory;
    mr->length = region.bytes = r.length;
  }
  if (domain) {
    --ours(mr->pd).users;
    ++ours(pd).users;
    mr->pd = pd;
  }
  return 0;
}

}  // namespace

// Brings memory in ahead of its use. Only advice: what cannot be brought in is no error until it is used.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count) {
  const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  const bool fault = advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
  if (fault && !write && advice != IBV_ADVISE_MR_ADVICE_PREFETCH) return EOPNOTSUPP;
  if ((flags & ~static_cast<unsigned>(IBV_ADVISE_MR_FLAG_FLUSH)) != 0 || count == 0) return EINVAL;
  Context& c = context_of(*pd);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::byte* place = nullptr;
    {
      const Hold hold(c);
      if (!hold) return EIO;
      const auto want = write ? nic::Rights::local_write : nic::Rights::none;
      const Refusal refusal = c.device.card().memory.translate(wire::Key(list[i].lkey), {ours(pd).number, {}}, want,
                                                               list[i].addr, list[i].length, place);
      if (refusal == Refusal::key_no_permission) return EPERM;
      if (refusal != Refusal::none) return EINVAL;
    }
    if (fault && list[i].length != 0) (void)real::pages_are_there(place, list[i].length, write);
  }
  return 0;
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, std::uint64_t iova, unsigned int access) {
  return register_region(pd, {addr, length, iova, access});
}

ibv_mr*(ibv_reg_mr_iova)(ibv_pd* pd, void* addr, size_t length, std::uint64_t iova, int access) {
  return register_region(pd, {addr, length, iova, static_cast<unsigned>(access)});
}

ibv_mr*(ibv_reg_mr)(ibv_pd* pd, void* addr, size_t length, int access) {
  return register_region(pd, {addr, length, number_of(addr), static_cast<unsigned>(access)});
}

// A refusal changes nothing, so that there is but one kind of it: the old region is still good.
int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  const RegionRequest request{addr, length, number_of(addr),
                              static_cast<unsigned>(access) & ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE)};
  const int code = reregister(mr, static_cast<unsigned>(flags), pd, request);
  if (code == 0) return 0;
  errno = code;
  return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(ibv_mr* mr) {
  Context& c = context_of(*mr);
  const Hold hold(c);
  if (!hold) return EIO;
  Region& region = ours(mr);
  if (const int code = errno_of(c.device.deregister_region(region.key)); code != 0) return code;
  if (c.device.doorbells_waiting()) c.lane.rang();
  --ours(mr->pd).users;
  if (region.device_memory != nullptr) --region.device_memory->users;
  delete &region;
  return 0;
}

}  // extern "C"
