// Access flags of verbs and the card's rights are the same bits, as far as the card knows them.
#pragma once

#include <infiniband/verbs.h>

#include "nic/rights.h"

namespace weft::verbs {

template <class Ours, class Theirs>
constexpr bool same_number(Ours ours, Theirs theirs) {
  return static_cast<unsigned>(ours) == static_cast<unsigned>(theirs);
}
static_assert(same_number(nic::Rights::local_write, IBV_ACCESS_LOCAL_WRITE));
static_assert(same_number(nic::Rights::remote_write, IBV_ACCESS_REMOTE_WRITE));
static_assert(same_number(nic::Rights::remote_read, IBV_ACCESS_REMOTE_READ));
static_assert(same_number(nic::Rights::remote_atomic, IBV_ACCESS_REMOTE_ATOMIC));
static_assert(same_number(nic::Rights::bind_window, IBV_ACCESS_MW_BIND));
static_assert(same_number(nic::Rights::zero_based, IBV_ACCESS_ZERO_BASED));
static_assert(same_number(nic::Rights::on_demand, IBV_ACCESS_ON_DEMAND));

inline constexpr unsigned kCardAccess = (IBV_ACCESS_ON_DEMAND << 1) - 1;
inline constexpr unsigned kRegionAccess = kCardAccess | IBV_ACCESS_HUGETLB;
inline constexpr unsigned kWindowAccess =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;

// Page sizes are the kernel's affair.
constexpr nic::Rights rights_of(unsigned access) { return static_cast<nic::Rights>(access & kCardAccess); }

}  // namespace weft::verbs
