#include "lab/fetch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "kernels/consistent.h"
#include "kernels/get.h"
#include "kernels/traverse.h"

namespace weft::lab {
namespace {

constexpr std::uint32_t kElement = kernels::kElementBytes, kChecksum = 8;
static_assert(sizeof(kernels::GetEntry) == kElement);

// As in the paper's figure 6: words of four bytes.
constexpr std::uint32_t kNextWord = 2, kValueWord = 4;
struct ListElement {
  std::uint64_t key, next, value;
};
static_assert(offsetof(ListElement, next) == kNextWord * 4 && offsetof(ListElement, value) == kValueWord * 4);

std::uint64_t in_lines(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Places in the server's memory.
std::uint64_t element_at(std::uint32_t element) { return std::uint64_t{element} * kElement; }
std::uint64_t value_at(const Setting& s, std::uint32_t element) {
  return element_at(s.elements) + element * in_lines(s.bytes);
}
std::uint64_t object_at(const Setting& s, std::uint64_t number) { return number * in_lines(s.bytes + kChecksum); }

void set_checksum(std::byte* object, std::uint32_t bytes) {
  const std::uint64_t sum = kernels::checksum({object, bytes});
  std::memcpy(object + bytes, &sum, sizeof sum);
}

}  // namespace

std::uint64_t fetched_memory(const Setting& s) {
  const std::uint64_t bytes = s.structure == FetchFrom::object ? object_at(s, s.qps) : value_at(s, s.elements);
  return (bytes + s.page_bytes - 1) / s.page_bytes * s.page_bytes;
}

// ---- the server -----------------------------------------------------------------------------------------

void FetchServer::start(Time) {
  std::memset(station_.memory, 0, station_.bytes);
  if (setting_.structure != FetchFrom::object) return make_chain(setting_.elements);
  changing_.resize(setting_.qps);
  for (std::uint32_t n = 0; n < setting_.qps; ++n) {
    std::byte* const object = station_.memory + object_at(setting_, n);
    for (std::uint32_t i = 0; i < setting_.bytes; ++i) object[i] = static_cast<std::byte>(random_.next());
    set_checksum(object, setting_.bytes);
  }
}

// Element i has key i + 1, in a list or in a bucket of its own entry.
void FetchServer::make_chain(std::uint32_t elements) {
  for (std::uint32_t i = 0; i < elements; ++i) {
    const std::uint64_t value = station_.address + value_at(setting_, i);
    std::byte* const at = station_.memory + element_at(i);
    if (setting_.structure == FetchFrom::list) {
      const std::uint64_t next = i + 1 < elements ? station_.address + element_at(i + 1) : 0;
      const ListElement element{i + std::uint64_t{1}, next, value};
      std::memcpy(at, &element, sizeof element);
    } else {
      kernels::GetEntry entry;
      const std::uint32_t bucket = i % kernels::GetEntry::kBuckets;
      entry.keys[bucket] = i + std::uint64_t{1};
      entry.values[bucket] = kernels::GetEntry::value_at(value, static_cast<std::uint16_t>(setting_.bytes));
      std::memcpy(at, &entry, sizeof entry);
    }
  }
}

void FetchServer::before_kernel_reads(const void* at, std::size_t) {
  if (setting_.structure != FetchFrom::object || setting_.failures == 0) return;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - station_.memory);
  const std::uint64_t number = offset / object_at(setting_, 1);
  std::byte& first = station_.memory[object_at(setting_, number)];
  const bool is_whole_again = changing_[number];
  if (is_whole_again || random_.chance(setting_.failures)) {
    first ^= std::byte{1};
    changing_[number] = !is_whole_again;
  }
}

// ---- clients --------------------------------------------------------------------------------------------

FetchClient::FetchClient(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
                         std::uint64_t seed)
    : Side(setting, station, number, std::move(peers), meter, seed),
      fetches_(station.ends.size()),
      free_at_(setting.threads) {
  for (std::uint32_t thread = 0; thread < setting.threads; ++thread) to_begin_.push_back(thread);
}

std::byte* FetchClient::answer(std::uint32_t end) const { return station_.memory + buffer_bytes(setting_) * end; }

void FetchClient::start(Time) {
  for (std::uint32_t end = 0; end < station_.ends.size(); ++end) {
    if (!setting_.by_kernel) continue;
    const nic::ReplyHead none;
    std::memcpy(answer(end), &none, sizeof none);
    station_.host.watch(answer(end), end);
  }
}

bool FetchClient::begin(Time& at, std::uint32_t thread) {
  const std::uint32_t end = to_begin_[thread];
  if (end >= station_.ends.size()) return false;
  to_begin_[thread] += setting_.threads;
  fetch(at, end);
  return true;
}

void FetchClient::fetch(Time& at, std::uint32_t end) {
  const bool chosen = setting_.structure != FetchFrom::object;
  fetches_[end] = {.began = at, .element = chosen ? static_cast<std::uint32_t>(random_.below(setting_.elements)) : 0};
  // A client's hash leads to the entry; of a list it has the first element.
  if (setting_.structure == FetchFrom::table) fetches_[end].next = fetches_[end].element;
  setting_.by_kernel ? call(at, end) : read(at, end);
}

void FetchClient::finish(Time& at, std::uint32_t end) {
  meter_.count(at);
  if (meter_.counting()) latencies_.push_back(at - fetches_[end].began);
  if (!meter_.over()) fetch(at, end);
}

// The next READ: of an element, and when that has the key, of the value.
void FetchClient::read(Time& at, std::uint32_t end) {
  Fetch& f = fetches_[end];
  const std::uint64_t memory = peer_of(end).address;
  if (setting_.structure == FetchFrom::object)
    return read_some(at, end, memory + object_at(setting_, remote_end(end)), setting_.bytes + kChecksum);
  if (f.next > f.element) return read_some(at, end, memory + value_at(setting_, f.element), setting_.bytes);
  read_some(at, end, memory + element_at(f.next), kElement);
}

void FetchClient::read_some(Time& at, std::uint32_t end, std::uint64_t from, std::uint32_t bytes) {
  const nic::Sge sge{station_.address + buffer_bytes(setting_) * end, bytes, station_.key};
  post(at, end,
       {.id = end,
        .kind = nic::WorkKind::read,
        .sges = {&sge, 1},
        .remote_address = from,
        .remote_key = peer_of(end).key});
}

void FetchClient::take(Time& at, std::uint32_t thread, const nic::Completion& done) {
  const auto end = static_cast<std::uint32_t>(done.id);
  Fetch& f = fetches_[end];
  at = std::max(at, free_at_[thread]);
  if (setting_.structure == FetchFrom::object) {
    work(at, setting_.bytes);
    const bool failed = !f.has_failed && random_.chance(setting_.failures);
    f.has_failed = failed;
    failed ? read(at, end) : finish(at, end);
  } else {
    const bool has_value = f.next > f.element;
    ++f.next;
    has_value ? finish(at, end) : read(at, end);
  }
  free_at_[thread] = at;
}

void FetchClient::call(Time& at, std::uint32_t end) {
  const Station& server = peer_of(end);
  const Fetch& f = fetches_[end];
  const kernels::TraverseCall in_list{.address = server.address + element_at(0),
                                      .key = f.element + std::uint64_t{1},
                                      .value_bytes = setting_.bytes,
                                      .key_mask = 1,
                                      .value_position = kValueWord,
                                      .next_position = kNextWord};
  const kernels::GetCall in_table{.entry = server.address + element_at(f.element), .key = f.element + std::uint64_t{1}};
  const kernels::ConsistentCall object{.address = server.address + object_at(setting_, remote_end(end)),
                                       .bytes = setting_.bytes + kChecksum};
  struct Parameters {
    std::uint64_t opcode;
    const void* at;
    std::uint32_t bytes;
  };
  const std::array<Parameters, 3> calls{{{kernels::kTraverse, &in_list, sizeof in_list},
                                         {kernels::kGet, &in_table, sizeof in_table},
                                         {kernels::kConsistent, &object, sizeof object}}};
  const Parameters& p = calls[static_cast<std::size_t>(setting_.structure)];
  const nic::CallHead head{.address = station_.address + buffer_bytes(setting_) * end,
                           .key = station_.key.raw(),
                           .room = static_cast<std::uint32_t>(sizeof(nic::ReplyHead)) + setting_.bytes};
  const std::array<nic::Fragment, 2> pieces{
      {{static_cast<const std::byte*>(static_cast<const void*>(&head)), sizeof head},
       {static_cast<const std::byte*>(p.at), p.bytes}}};
  post(at, end,
       {.id = end,
        .kind = nic::WorkKind::rpc,
        .signaled = false,
        .inline_data = pieces,
        .is_inline = true,
        .remote_address = p.opcode,
        .remote_key = server.key});
}

void FetchClient::on_written(Time now, std::uint32_t end) {
  const std::uint32_t thread = station_.ends[end].thread;
  Time at = std::max(now, free_at_[thread]) + setting_.profile.thread.poll;
  nic::ReplyHead head;
  std::memcpy(&head, answer(end), sizeof head);
  if (head.outcome != nic::CallOutcome::success || head.bytes != setting_.bytes)
    throw std::runtime_error("a kernel did not answer what it was asked for");
  const nic::ReplyHead none;
  std::memcpy(answer(end), &none, sizeof none);
  finish(at, end);
  was_busy(at - now);
  free_at_[thread] = at;
}

}  // namespace weft::lab
