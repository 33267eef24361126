// Protection domains; thread domains and parent domains, which only name them: every call is safe from every thread.
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/operations.h"

namespace weft::verbs {

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) {
  if (attr->comp_mask != 0) return refuse(EOPNOTSUPP);
  return attempt([&]() -> ibv_td* {
    auto* td = new ThreadDomain{};
    td->context = context;
    return td;
  });
}

int dealloc_td(ibv_td* td) {
  const Hold hold(context_of(*td));
  if (!hold) return EIO;
  if (ours(td).users != 0) return EBUSY;
  delete &ours(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
  if (!is_of(context, attr->pd) || (attr->td != nullptr && !is_of(context, attr->td))) return refuse(EINVAL);
  // A program's own allocators would serve rings; ours are the device's.
  if ((attr->comp_mask & ~IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0) return refuse(EOPNOTSUPP);
  const Hold hold(context_of(context));
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_pd* {
    auto* pd = new Domain{};
    pd->context = context;
    pd->below = &ours(attr->pd);
    pd->number = pd->below->number;
    pd->handle = pd->number;
    ++pd->below->users;
    if (attr->td != nullptr) {
      pd->thread = &ours(attr->td);
      ++pd->thread->users;
    }
    return pd;
  });
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  Context& c = context_of(context);
  const Hold hold(c);
  if (!hold) return refuse(EIO);
  return attempt([&]() -> ibv_pd* {
    auto pd = std::make_unique<Domain>();
    const auto number = c.device.create_domain();
    if (!number) return refuse(number.error());
    pd->context = context;
    pd->number = pd->handle = *number;
    return pd.release();
  });
}

int ibv_dealloc_pd(ibv_pd* pd) {
  Context& c = context_of(*pd);
  const Hold hold(c);
  if (!hold) return EIO;
  Domain& d = ours(pd);
  if (d.users != 0) return EBUSY;
  if (d.below != nullptr) {
    --d.below->users;
    if (d.thread != nullptr) --d.thread->users;
  } else if (const int code = errno_of(c.device.destroy_domain(d.number)); code != 0) {
    return code;
  }
  delete &d;
  return 0;
}

}  // extern "C"
