#include "host/device.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/fixed_vector.h"

namespace weft::host {
namespace {

// What the pool takes at once, in blocks of a size. Not more, and a little less than a power of two: four of them, with
// what the pool notes about them, share a large page if a block is one of 16 work entries.
constexpr std::size_t kTakenTogether = 480;

}  // namespace

Device::Device(const DeviceConfig& config, RandomSource& random)
    : config_(config),
      random_(random),
      card_(config.card),
      pool_({.max_blocks_per_chunk = kTakenTogether, .largest_required_pool_block = 0}, config.memory),
      qp_slots_(card_.contexts.size()),
      cq_slots_(config.card.max_cqs),
      srq_slots_(config.card.max_srqs),
      last_qpns_(card_.contexts.size()),
      qps_(card_.contexts.size()),
      cqs_(config.card.max_cqs),
      srqs_(config.card.max_srqs),
      tables_(card_.translations.enabled() ? card_.memory.size() : 0),
      doorbells_(card_.contexts.size()) {
  assert(!config.gids.empty() && config.gids.size() <= nic::PortAttributes::kMaxGids);
  std::copy(config.gids.begin(), config.gids.end(), card_.port.gids.begin());
  card_.port.gid_count = static_cast<std::uint8_t>(config.gids.size());
  card_.port.mtu_shift = static_cast<std::uint8_t>(std::countr_zero(config.mtu));
}

Device::~Device() {
  for (auto& qp : qps_) qp.reset();  // before the completion queues that they refer to
  stateless_qps_.clear();
}

// ---- domains, regions, windows ---------------------------------------------------------------------------

Result<Domain> Device::create_domain() {
  if (!free_domains_.empty()) {
    const Domain d = free_domains_.back();
    free_domains_.pop_back();
    domain_users_[d] = 0;
    return d;
  }
  if (domain_users_.size() == kMaxDomains) return tl::unexpected(Error::table_full);
  domain_users_.emplace_back(0);
  return static_cast<Domain>(domain_users_.size() - 1);
}

Error Device::destroy_domain(Domain domain) {
  if (!has_domain(domain)) return Error::invalid_argument;
  if (*domain_users_[domain] != 0) return Error::busy;
  domain_users_[domain].reset();
  free_domains_.push_back(domain);
  return Error::none;
}

namespace {
// IBA 11.2.8.2: who may be written to from afar must be writable at home.
bool rights_agree(nic::Rights r) {
  const bool remote_writes = any(r & (nic::Rights::remote_write | nic::Rights::remote_atomic));
  return !remote_writes || includes(r, nic::Rights::local_write);
}
}  // namespace

Result<wire::Key> Device::register_region(Domain domain, const RegionOptions& o) {
  if (!has_domain(domain) || o.memory == nullptr || o.length == 0 || !rights_agree(o.rights)) {
    return fail(Error::invalid_argument);
  }
  if (!nic::is_page_size(o.page_bytes)) return fail(Error::invalid_argument);
  const std::uint64_t base = includes(o.rights, nic::Rights::zero_based) ? 0 : o.address;
  if (base + (o.length - 1) < base) return fail(Error::invalid_argument);  // wraps past the top of the space
  nic::Region* r = card_.memory.add_region(domain, o.memory, base, o.length, o.rights, random_.next());
  if (r == nullptr) return fail(Error::table_full);
  r->page_shift = static_cast<std::uint8_t>(std::countr_zero(o.page_bytes));
  lay_out(*r);
  ++*domain_users_[domain];
  return r->key;
}

// Writes the region's translation table, if the card wants one. An on-demand region has none: its pages come and go,
// and the world is asked about them.
void Device::lay_out(nic::Region& r) {
  if (tables_.empty() || includes(r.rights, nic::Rights::on_demand)) return;
  const std::uint64_t pages = nic::pages_of(r.base, r.length, r.page_shift);
  const std::uint64_t page_bytes = std::uint64_t{1} << r.page_shift;
  auto table = std::make_unique<nic::TranslationEntry[]>(pages);
  std::byte* page = r.host - (r.base & (page_bytes - 1));
  for (std::uint64_t i = 0; i < pages; ++i) table[i].page = page + i * page_bytes;
  card_.memory.set_table(r, table.get());
  tables_[card_.memory.slot_of(r)] = std::move(table);
  translation_entries_ += pages;
}

void Device::forget_layout(nic::Region& r) {
  if (r.table == nullptr) return;
  const std::uint64_t pages = nic::pages_of(r.base, r.length, r.page_shift);
  const std::uint32_t slot = card_.memory.slot_of(r);
  card_.translations.forget(slot, pages);
  card_.memory.set_table(r, nullptr);
  tables_[slot].reset();
  translation_entries_ -= pages;
}

Error Device::reregister_region(wire::Key key, std::optional<Domain> domain, const RegionOptions* translation,
                                std::optional<nic::Rights> rights) {
  nic::Region* r = card_.memory.find(key);
  if (r == nullptr || r->kind != nic::RegionKind::region) return Error::invalid_argument;
  if (r->windows != 0) return Error::busy;
  if (domain && !has_domain(*domain)) return Error::invalid_argument;
  if (rights && !rights_agree(*rights)) return Error::invalid_argument;
  if (translation != nullptr) {
    const std::uint64_t base = translation->address;
    if (translation->memory == nullptr || translation->length == 0) return Error::invalid_argument;
    if (base + (translation->length - 1) < base) return Error::invalid_argument;
    if (!nic::is_page_size(translation->page_bytes)) return Error::invalid_argument;
  }
  revoke(*r);
  forget_layout(*r);
  if (translation != nullptr) {
    const std::uint64_t base = translation->address;
    r->page_shift = static_cast<std::uint8_t>(std::countr_zero(translation->page_bytes));
    const bool zero_based = includes(rights.value_or(r->rights), nic::Rights::zero_based);
    card_.memory.move(*r, translation->memory, zero_based ? 0 : base, translation->length);
  }
  if (domain) {
    --*domain_users_[r->domain];
    ++*domain_users_[*domain];
  }
  card_.memory.change(*r, domain.value_or(r->domain), rights.value_or(r->rights));
  lay_out(*r);
  return Error::none;
}

Error Device::deregister_region(wire::Key key) {
  nic::Region* r = card_.memory.find(key);
  if (r == nullptr || r->kind != nic::RegionKind::region) return Error::invalid_argument;
  if (r->windows != 0) return Error::busy;
  --*domain_users_[r->domain];
  revoke(*r);
  forget_layout(*r);
  card_.memory.remove(*r);
  return Error::none;
}

Result<wire::Key> Device::create_window(Domain domain, int type) {
  if (!has_domain(domain) || (type != 1 && type != 2)) return fail(Error::invalid_argument);
  const auto kind = type == 1 ? nic::RegionKind::window_1 : nic::RegionKind::window_2;
  nic::Region* r = card_.memory.add_window(domain, kind, random_.next());
  if (r == nullptr) return fail(Error::table_full);
  ++*domain_users_[domain];
  return r->key;
}

Error Device::destroy_window(wire::Key key) {
  nic::Region* r = card_.memory.find(key);
  if (r == nullptr || r->kind == nic::RegionKind::region) return Error::invalid_argument;
  --*domain_users_[r->domain];
  if (r->bound) revoke(*r);
  card_.memory.remove(*r);
  return Error::none;
}

void Device::revoke(const nic::Region& r) {
  if (exporter_ != nullptr) exporter_->revoke(r.host, r.length);
}

// ---- queues -------------------------------------------------------------------------------------------------

Result<CompletionQueue*> Device::create_cq(std::uint32_t entries, std::uint32_t channel) {
  if (entries == 0) return fail(Error::invalid_argument);
  if (entries > config_.max_cq_entries) return fail(Error::limit_exceeded);
  if (channel != nic::kNone && (channel >= channels_.size() || !channels_[channel].live)) {
    return fail(Error::invalid_argument);
  }
  if (cq_slots_.empty()) return fail(Error::table_full);
  const std::uint32_t number = cq_slots_.take(random_.next());
  cqs_[number] = std::make_unique<CompletionQueue>(card_, number, entries);
  cqs_[number]->channel = channel;
  if (channel != nic::kNone) ++channels_[channel].users;
  return cqs_[number].get();
}

Error Device::destroy(CompletionQueue* cq) {
  if (cq->users != 0) return Error::busy;
  if (cq->channel != nic::kNone) {
    if (cq->event_waiting) forget_event(channels_[cq->channel], *cq);
    --channels_[cq->channel].users;
  }
  const std::uint32_t number = cq->number();
  cqs_[number].reset();
  cq_slots_.give_back(number);
  return Error::none;
}

// Takes this queue out of its channel's list; the events of others stay.
void Device::forget_event(Channel& ch, CompletionQueue& cq) {
  CompletionQueue* before = nullptr;
  for (CompletionQueue* at = ch.first; at != &cq; at = at->next_event) before = at;
  (before != nullptr ? before->next_event : ch.first) = cq.next_event;
  if (ch.last == &cq) ch.last = before;
  cq.event_waiting = false;
}

Error Device::resize(CompletionQueue& cq, std::uint32_t entries) {
  return entries > config_.max_cq_entries ? Error::limit_exceeded : cq.resize(entries);
}

Result<SharedReceiveQueue*> Device::create_srq(Domain domain, std::uint32_t entries, std::uint32_t max_sges) {
  if (!has_domain(domain) || entries == 0 || max_sges == 0) return fail(Error::invalid_argument);
  if (entries > config_.max_queue_entries || max_sges > config_.max_sges) return fail(Error::limit_exceeded);
  if (srq_slots_.empty()) return fail(Error::table_full);
  const std::uint32_t number = srq_slots_.take(random_.next());
  srqs_[number] = std::make_unique<SharedReceiveQueue>(card_, number, domain, entries, max_sges);
  ++*domain_users_[domain];
  return srqs_[number].get();
}

Error Device::destroy(SharedReceiveQueue* srq) {
  if (srq->users != 0) return Error::busy;
  const std::uint32_t number = srq->number();
  --*domain_users_[srq->domain()];
  srqs_[number].reset();
  srq_slots_.give_back(number);
  return Error::none;
}

Error Device::judge_qp(Domain domain, const QpOptions& o) const {
  const QpLimits& l = o.limits;
  if (!has_domain(domain) || o.send_cq == nullptr || o.receive_cq == nullptr) return Error::invalid_argument;
  if (o.service != wire::Service::rc && o.service != wire::Service::uc && o.service != wire::Service::ud) {
    return Error::not_supported;
  }
  if (o.srq != nullptr && o.srq->domain() != domain) return Error::wrong_domain;
  if (o.srq != nullptr && o.service == wire::Service::uc) return Error::not_supported;
  if (l.send_entries > config_.max_queue_entries || l.receive_entries > config_.max_queue_entries) {
    return Error::limit_exceeded;
  }
  if (l.send_sges > config_.max_sges || l.receive_sges > config_.max_sges) return Error::limit_exceeded;
  if (l.inline_bytes > config_.max_inline) return Error::limit_exceeded;
  if (o.role != StarRole::none && o.service != wire::Service::rc) return Error::not_supported;
  if (has_kernels(o) && (o.service != wire::Service::rc || o.role != StarRole::none)) return Error::not_supported;
  if (o.serves_calls > kMostCalls || o.local_calls > kMostCalls) return Error::limit_exceeded;
  if (serves_kernels(o) && l.send_entries + kernel_entries(o) > config_.max_queue_entries) {
    return Error::limit_exceeded;
  }
  if (o.role != StarRole::stateless) return Error::none;
  if (o.srq != nullptr) return Error::not_supported;  // a card without state cannot share one
  return fits_stateless(o) ? Error::none : Error::limit_exceeded;
}

void Device::set_qpn_prefix(std::uint32_t prefix, std::uint32_t bits) {
  assert(bits < 24 && card_.contexts.size() <= 1U << (24 - bits) && prefix < 1U << bits);
  qpn_prefix_ = prefix << (24 - bits);
  qpn_noise_ = (1U << (24 - bits)) - 1;
}

// The slot, or the number of the block, is in the low bits, the rest is noise; 0, 1 and 0xFFFFFF are not ours to give,
// nor is the number that was there last, if there is another: packets for it may still be under way. Slots and blocks
// share the numbers. Nothing: among those that were tried each is taken.
std::optional<wire::Qpn> Device::choose_qpn(std::uint32_t low, std::uint32_t count, wire::Qpn last) {
  constexpr std::uint32_t kTried = 8;
  const std::uint32_t mask = count - 1;
  const bool choice = (qpn_noise_ & ~mask) != 0;
  auto noise = static_cast<std::uint32_t>(random_.next());
  for (std::uint32_t i = 0; i < (choice ? kTried : 1); ++i, noise += count) {
    const wire::Qpn qpn(qpn_prefix_ | (noise & qpn_noise_ & ~mask) | low);
    if (qpn.raw() <= 1 || qpn == wire::kMulticastQpn || find_qp(qpn) != nullptr) continue;
    if (!choice || qpn != last) return qpn;
  }
  return std::nullopt;
}

// A free slot, or block, for which there is a number. In a crowded table the first one may have none.
std::optional<Device::Numbered> Device::take_numbered(nic::Slots& free, std::uint32_t count,
                                                      std::span<const wire::Qpn> last) {
  constexpr std::size_t kTried = 64;
  FixedVector<std::uint32_t, kTried> aside;
  std::optional<Numbered> out;
  while (!out && !free.empty() && aside.size() < kTried) {
    const std::uint32_t slot = free.take(random_.next());
    const auto qpn = choose_qpn(slot, count, last.empty() ? wire::Qpn{} : last[slot]);
    if (qpn) {
      out = Numbered{slot, *qpn};
    } else {
      (void)aside.try_push(slot);
    }
  }
  for (const std::uint32_t slot : aside) free.give_back(slot);
  return out;
}

void Device::begin_stateless() {
  if (stateless_ != nullptr) return;
  stateless_ = std::make_unique<StatelessSide>(card_, std::bit_ceil(config_.max_stateless));
  assert(stateless_->most() <= qpn_noise_ + 1);
  card_.capabilities.set_seal_secret(draw_secret());
  renew_capabilities();
}

nic::CapabilityIssuer::Secret Device::draw_secret() {
  nic::CapabilityIssuer::Secret secret;
  for (std::uint8_t& byte : secret) byte = static_cast<std::uint8_t>(random_.next());
  return secret;
}

nic::StatelessBlock& Device::take_block() {
  begin_stateless();
  return stateless_->make(stateless_->free().take(random_.next()));
}

Result<QueuePair*> Device::create_stateless(Domain domain, const QpOptions& options) {
  begin_stateless();
  const auto place = take_numbered(stateless_->free(), stateless_->most(), {});
  if (!place) return fail(Error::table_full);
  nic::StatelessBlock& block = stateless_->make(place->slot);
  auto& made = stateless_qps_[place->qpn.raw()];
  made = std::make_unique<QueuePair>(*this, block, place->qpn, domain, options);
  return made.get();
}

void Device::renew_capabilities() {
  card_.capabilities.rotate(draw_secret());
  if (stateless_ != nullptr) stateless_->renew_capabilities();
}

Result<QueuePair*> Device::create_qp(Domain domain, const QpOptions& wanted) {
  QpOptions options = wanted;
  if (options.role == StarRole::none && options.service == wire::Service::rc) options.role = config_.role;
  if (const Error e = judge_qp(domain, options); e != Error::none) return fail(e);
  if (serves_kernels(options)) begin_kernels();
  QueuePair* made = nullptr;
  if (options.role == StarRole::stateless) {
    const auto stateless = create_stateless(domain, options);
    if (!stateless) return stateless;
    made = *stateless;
  } else {
    const auto place = take_numbered(qp_slots_, card_.contexts.size(), last_qpns_);
    if (!place) return fail(Error::table_full);
    auto& at = qps_[place->slot];
    at = std::make_unique<QueuePair>(*this, place->slot, place->qpn, domain, options);
    made = at.get();
  }
  ++options.send_cq->users;
  ++options.receive_cq->users;
  if (options.srq != nullptr) ++options.srq->users;
  ++*domain_users_[domain];
  connections_ += options.service == wire::Service::rc ? 1 : 0;
  return made;
}

Error Device::destroy(QueuePair* qp) {
  const QpOptions options = qp->options();
  const std::uint32_t slot = qp->slot();
  --*domain_users_[qp->domain()];
  connections_ -= options.service == wire::Service::rc ? 1 : 0;
  if (slot >= card_.contexts.size()) {
    stateless_qps_.erase(qp->qpn().raw());
  } else {
    doorbells_.remove(slot);
    last_qpns_[slot] = qp->qpn();
    qps_[slot].reset();
    qp_slots_.give_back(slot);
  }
  --options.send_cq->users;
  --options.receive_cq->users;
  if (options.srq != nullptr) --options.srq->users;
  return Error::none;
}

QueuePair* Device::find_qp(wire::Qpn qpn) {
  if (const auto found = stateless_qps_.find(qpn.raw()); found != stateless_qps_.end()) return found->second.get();
  QueuePair* qp = qps_[card_.contexts.slot_of(qpn)].get();
  return qp != nullptr && qp->qpn() == qpn ? qp : nullptr;
}

// ---- events and doorbells --------------------------------------------------------------------------------------

Result<std::uint32_t> Device::create_channel() {
  for (std::uint32_t i = 0; i < channels_.size(); ++i) {
    if (!channels_[i].live) {
      channels_[i] = Channel{.live = true};
      return i;
    }
  }
  channels_.push_back(Channel{.live = true});
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

Error Device::destroy_channel(std::uint32_t channel) {
  if (channel >= channels_.size() || !channels_[channel].live) return Error::invalid_argument;
  if (channels_[channel].users != 0) return Error::busy;
  channels_[channel].live = false;
  return Error::none;
}

CompletionQueue* Device::next_completion_event(std::uint32_t channel) {
  Channel& ch = channels_[channel];
  CompletionQueue* cq = ch.first;
  if (cq == nullptr) return nullptr;
  ch.first = cq->next_event;
  if (ch.first == nullptr) ch.last = nullptr;
  cq->next_event = nullptr;
  cq->event_waiting = false;
  return cq;
}

std::optional<nic::HostEvent> Device::next_async_event() {
  if (async_events_.empty()) return std::nullopt;
  const nic::HostEvent e = async_events_.front();
  async_events_.pop_front();
  return e;
}

void Device::on_event(const nic::HostEvent& event) {
  if (event.kind != nic::EventKind::completion) {
    async_events_.push_back(event);
    return;
  }
  CompletionQueue* cq = cqs_[event.number].get();
  if (cq == nullptr || cq->channel == nic::kNone || cq->event_waiting) return;
  Channel& ch = channels_[cq->channel];
  cq->event_waiting = true;
  (ch.last != nullptr ? ch.last->next_event : ch.first) = cq;
  ch.last = cq;
}

}  // namespace weft::host
