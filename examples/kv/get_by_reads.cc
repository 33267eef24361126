// GET as Pilaf does it: a READ of the entry, another of the object; one more for each link of a chain.
#include "common/address.h"
#include "remote_table.h"

namespace kv {
namespace {

class ByReads final : public Getter {
 public:
  ByReads(const ServerPlace& server, std::size_t clients)
      : table_(server, clients, Calls::none),
        stride_(sizeof(weft_get_entry) + table_.most_object()),
        memory_(clients * stride_),
        mr_(table_.card().register_memory(memory_)),
        clients_(clients) {}

  void start(std::size_t client, std::uint64_t key) override {
    clients_[client].key = key;
    read_entry(client, table_.entry_of(key));
  }

  void poll(std::vector<Got>& got) override {
    poll_cq(table_.card().cq(), [&](const ibv_wc& done) {
      const std::size_t client = done.wr_id;
      Client& c = clients_[client];
      if (!c.has_entry) return on_entry(client, got);
      const Bytes object(memory_of(client) + sizeof(weft_get_entry), c.object_bytes);
      const std::optional<Bytes> value = value_in(object, c.key);
      got.push_back({client, value.has_value(), value});
    });
  }

 private:
  struct Client {
    std::uint64_t key = 0;
    std::uint32_t object_bytes = 0;
    bool has_entry = false;
  };

  void on_entry(std::size_t client, std::vector<Got>& got) {
    Client& c = clients_[client];
    weft_get_entry entry;
    std::memcpy(&entry, memory_of(client), sizeof entry);
    if (const std::optional<Place> place = find_in(entry, c.key)) {
      if (place->bytes > table_.most_object()) return got.push_back({client, false, {}});  // of a PUT under way
      c.has_entry = true;
      c.object_bytes = place->bytes;
      return read(client, place->address, sizeof entry, place->bytes);
    }
    if (entry.next != 0) return read_entry(client, entry.next);
    got.push_back({client, true, {}});
  }
  void read_entry(std::size_t client, std::uint64_t address) {
    clients_[client].has_entry = false;
    read(client, address, 0, sizeof(weft_get_entry));
  }
  void read(std::size_t client, std::uint64_t address, std::size_t at, std::uint32_t bytes) {
    ibv_sge here{number_of(memory_of(client) + at), bytes, mr_->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = client;
    wr.sg_list = &here;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_READ;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = address, .rkey = table_.rkey()};
    if (ibv_post_send(table_.qp(client), &wr, &bad) != 0) give_up("cannot post a READ");
  }
  [[nodiscard]] std::byte* memory_of(std::size_t client) { return memory_.data() + client * stride_; }

  RemoteTable table_;
  std::size_t stride_;  // an entry, an object
  std::vector<std::byte> memory_;
  ibv_mr* mr_;
  std::vector<Client> clients_;
};

}  // namespace

std::unique_ptr<Getter> get_by_reads(const ServerPlace& server, std::size_t clients) {
  return std::make_unique<ByReads>(server, clients);
}

}  // namespace kv
