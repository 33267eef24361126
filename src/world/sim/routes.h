// Which host has which address: a flat sorted table, searched once per packet.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

#include "wire/types.h"
#include "world/sim/address_key.h"
#include "world/sim/parcel.h"

namespace weft::sim {

class AddressTable {
 public:
  void add(const wire::Address& address, HostIndex host) {
    const AddressKey key(address);
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    assert(at == keys_.end() || *at != key);  // an address has one owner
    hosts_.insert(hosts_.begin() + (at - keys_.begin()), host);
    keys_.insert(at, key);
  }
  // kNoHost when nobody has it.
  [[nodiscard]] HostIndex find(AddressKey key) const {
    if (keys_.empty()) return kNoHost;
    const AddressKey* at = keys_.data();
    for (std::size_t left = keys_.size(); left > 1;) {  // without a branch that could be mispredicted
      const std::size_t half = left / 2;
      at += key < at[half] ? 0 : half;
      left -= half;
    }
    return *at == key ? hosts_[static_cast<std::size_t>(at - keys_.data())] : kNoHost;
  }

 private:
  std::vector<AddressKey> keys_;
  std::vector<HostIndex> hosts_;
};

}  // namespace weft::sim
