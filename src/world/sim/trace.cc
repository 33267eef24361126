#include "world/sim/trace.h"

#include <array>
#include <cassert>
#include <iomanip>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "world/sim/address_key.h"

namespace weft::sim {
namespace {

enum class Mark : std::uint64_t { delivered = 1, refused, dropped, added };

constexpr std::array<std::string_view, 5> kDropNames{"lost", "black hole", "dropped", "no route", "no room"};

std::uint64_t pair(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

std::ostream& stamp(std::ostream& sink, Time now) {
  const auto flags = sink.flags();
  const auto fill = sink.fill('0');
  sink << now / microseconds(1) << '.' << std::setw(6) << now % microseconds(1) << " us ";
  sink.flags(flags);
  sink.fill(fill);
  return sink;
}

}  // namespace

// The numbers of one event. Fields are named one by one: a struct's bytes have gaps, and headers that the opcode does
// not have may hold anything.
class TraceDigest::Words {
 public:
  Words(Mark mark, Time now) {
    put(static_cast<std::uint64_t>(mark));
    put(static_cast<std::uint64_t>(now));
  }
  void put(std::uint64_t word) {
    assert(count_ < words_.size());
    words_[count_++] = word;
  }
  void put(const Parcel& parcel) {
    put(pair(parcel.from, parcel.to));
    put(parcel.flow);
    put(parcel.headers);
    put(parcel.payload_bytes);
    if (!parcel.payload().empty()) put(XXH3_64bits(parcel.payload().data(), parcel.payload().size()));
  }
  [[nodiscard]] std::uint64_t hash(std::uint64_t seed) const {
    return XXH3_64bits_withSeed(words_.data(), count_ * sizeof(std::uint64_t), seed);
  }

 private:
  void put(const wire::Flow& flow) {
    const AddressKey source(flow.source), destination(flow.destination);
    put(source.high);
    put(source.low);
    put(destination.high);
    put(destination.low);
    put(pair(flow.flow_label,
             std::uint32_t{flow.source_port} << 16 | std::uint32_t{flow.traffic_class} << 8 | flow.hop_limit));
  }
  void put(const wire::Headers& headers) {
    const wire::Bth& bth = headers.bth;
    const std::uint32_t flags = bth.solicited | bth.migrated << 1 | bth.fecn << 2 | bth.becn << 3 |
                                bth.ack_request << 4 | bth.pad << 8 | bth.version << 16;
    put(pair(std::uint32_t{bth.pkey.raw()} << 8 | static_cast<std::uint8_t>(bth.opcode), flags));
    put(pair(bth.destination.raw(), bth.psn.raw()));
    const wire::OpcodeInfo& has = wire::info(bth.opcode);
    if (has.reth) put(headers.reth.address), put(pair(headers.reth.key.raw(), headers.reth.length));
    if (has.sequence) put(headers.sequence.raw());
    if (has.target) put(headers.reth.address), put(headers.reth.key.raw());
    if (has.srnic_ack) {
      put(pair(headers.srnic_ack.syndrome, headers.srnic_ack.expected.raw()));
      put(pair(headers.srnic_ack.run, headers.srnic_ack.marked));
    }
    if (has.atomic_eth) {
      put(headers.atomic.address);
      put(headers.atomic.key.raw());
      put(headers.atomic.swap_add);
      put(headers.atomic.compare);
    }
    if (has.atomic_ack_eth) put(headers.atomic_ack.original);
    if (has.aeth) put(pair(headers.aeth.syndrome, headers.aeth.msn.raw()));
    if (has.deth) put(pair(headers.deth.qkey.raw(), headers.deth.source.raw()));
    if (has.immediate || has.ieth) {
      put(pair(has.immediate ? headers.immediate.value : 0, has.ieth ? headers.invalidate.key.raw() : 0));
    }
  }

  // XXH3 reads bytes. Both our machines put the low one first; on another the words would have to be turned.
  static_assert(std::endian::native == std::endian::little);
  std::array<std::uint64_t, 32> words_;
  std::size_t count_ = 0;
};

void TraceDigest::absorb(const Words& words) {
  state_ = words.hash(state_);
  ++events_;
}

void TraceDigest::delivered(Time now, const Parcel& parcel) {
  Words words(Mark::delivered, now);
  words.put(parcel);
  absorb(words);
  if (sink_ != nullptr) [[unlikely]]
    print(now, "delivered", parcel);
}

void TraceDigest::refused(Time now, const Parcel& parcel) {
  Words words(Mark::refused, now);
  words.put(pair(parcel.from, parcel.to));
  words.put(static_cast<std::uint64_t>(parcel.refusal));
  absorb(words);
  if (sink_ != nullptr) [[unlikely]]
    print(now, text(parcel.refusal).counter, parcel);
}

void TraceDigest::dropped(Time now, std::uint32_t link, DropReason reason, const Parcel& parcel) {
  Words words(Mark::dropped, now);
  words.put(pair(link, static_cast<std::uint32_t>(reason)));
  words.put(parcel);
  absorb(words);
  if (sink_ != nullptr) [[unlikely]]
    print(now, kDropNames[static_cast<std::size_t>(reason)], parcel);
}

void TraceDigest::add(Time now, HostIndex host, std::string_view what, std::initializer_list<std::uint64_t> numbers) {
  Words words(Mark::added, now);
  words.put(host);
  words.put(XXH3_64bits(what.data(), what.size()));
  for (const std::uint64_t number : numbers) words.put(number);
  absorb(words);
  if (sink_ == nullptr) [[likely]]
    return;
  stamp(*sink_, now) << what << " at host " << host;
  for (const std::uint64_t number : numbers) *sink_ << ' ' << number;
  *sink_ << '\n';
}

void TraceDigest::print(Time now, std::string_view what, const Parcel& parcel) {
  const wire::Bth& bth = parcel.headers.bth;
  stamp(*sink_, now) << what << ' ' << static_cast<std::int32_t>(parcel.from) << "->"
                     << static_cast<std::int32_t>(parcel.to) << ' ' << wire::info(bth.opcode).name << " qpn "
                     << bth.destination.raw() << " psn " << bth.psn.raw() << " payload " << parcel.payload_bytes
                     << '\n';
}

}  // namespace weft::sim
