// GET by a kernel on the server's card: one call, whose answer is the object, and completes a receive.
#include "common/address.h"
#include "deploy.h"
#include "remote_table.h"

namespace kv {
namespace {

constexpr std::uint64_t kSent = ~std::uint64_t{0};  // the completion of a call, and not of its answer
constexpr std::uint32_t kSignalEvery = Card::kEntries / 2;

class ByKernel final : public Getter {
 public:
  // `object`: of a kernel to be deployed; empty: the one that the server has.
  ByKernel(const ServerPlace& server, std::size_t clients, const std::string& object)
      : table_(server, clients, Calls::makes, !object.empty()),
        room_((sizeof(weft_reply_head) + table_.most_object() + 7) / 8 * 8),
        memory_(clients * room_),
        mr_(table_.card().register_memory(memory_)),
        clients_(clients),
        opcode_(object.empty() ? shipped("get").opcode : deploy(table_, object)) {}

  void start(std::size_t client, std::uint64_t key) override {
    Client& c = clients_[client];
    c.key = key;
    ibv_recv_wr receive{}, *bad = nullptr;
    receive.wr_id = client;
    if (ibv_post_recv(table_.qp(client), &receive, &bad) != 0) give_up("cannot post a receive");
    weft_get_call parameters{.entry = table_.entry_of(key), .key = key};
    ibv_sge sge{number_of(&parameters), sizeof parameters, 0};
    weftdv_rpc call{};
    call.wr_id = kSent;
    call.opcode = opcode_;
    call.rkey = table_.rkey();
    call.sg_list = &sge;
    call.num_sge = 1;
    call.send_flags = IBV_SEND_INLINE;
    if (++c.calls % kSignalEvery == 0) call.send_flags |= IBV_SEND_SIGNALED;
    call.answer_addr = number_of(memory_of(client));
    call.answer_rkey = mr_->rkey;
    call.answer_length = static_cast<std::uint32_t>(room_);
    call.notify = true;
    if (const int code = weftdv_post_rpc(table_.qp(client), &call); code != 0)
      give_up(std::string("cannot call: ") + std::strerror(code));
  }

  void poll(std::vector<Got>& got) override {
    poll_cq(table_.card().cq(), [&](const ibv_wc& done) {
      if (done.wr_id == kSent) return;
      const std::size_t client = done.wr_id;
      weft_reply_head head;
      std::memcpy(&head, memory_of(client), sizeof head);
      // An entry that is being changed may lead the kernel anywhere, which its key does not open.
      if (head.outcome != WEFT_CALL_SUCCESS) return got.push_back({client, false, {}});
      if (head.bytes == 0) return got.push_back({client, true, {}});
      const std::optional<Bytes> value = value_in({memory_of(client) + sizeof head, head.bytes}, clients_[client].key);
      got.push_back({client, value.has_value(), value});
    });
  }

 private:
  struct Client {
    std::uint64_t key = 0;
    std::uint32_t calls = 0;
  };
  [[nodiscard]] std::byte* memory_of(std::size_t client) { return memory_.data() + client * room_; }

  RemoteTable table_;
  std::size_t room_;  // for an answer
  std::vector<std::byte> memory_;
  ibv_mr* mr_;
  std::vector<Client> clients_;
  std::uint64_t opcode_;
};

}  // namespace

std::unique_ptr<Getter> get_by_kernel(const ServerPlace& server, std::size_t clients) {
  return std::make_unique<ByKernel>(server, clients, "");
}

std::unique_ptr<Getter> get_by_bytecode(const ServerPlace& server, std::size_t clients, const std::string& object) {
  return std::make_unique<ByKernel>(server, clients, object);
}

}  // namespace kv
