// One TCP connection between two checking programs, and the reliable connection that it stands for.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "link.h"

namespace soak {

// What a test does to see that the soak notices: other bytes than announced, descriptors kept, nothing done any more.
enum class Sabotage { none, damage, leak, hang };

struct Totals {
  std::uint64_t batches = 0, bytes = 0, lost = 0;
};

// What a program is, for all its sessions.
struct Self {
  Device& device;
  std::string name;
  bool events = false;
  Sabotage sabotage = Sabotage::none;
  Totals totals;
};

// Ends the program: data are not what they must be.
[[noreturn]] void wrong(const char* what, std::uint64_t at, std::uint64_t bytes);

class Session {
 public:
  Session(Self& self, int socket) : self_(self), socket_(socket) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session();

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] int channel() const { return link_ ? link_->channel() : -1; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] virtual bool connecting() const { return false; }
  // Something came over TCP, or the connection is there.
  void on_socket();
  void on_completions();
  // Nothing new is begun.
  virtual void finish() = 0;

 protected:
  virtual void on_hello(const Hello& hello) = 0;
  virtual void on_completion(const ibv_wc& wc) = 0;
  void say_hello(std::uint64_t seed);
  void open_link(std::uint32_t receives) { link_.emplace(self_.device, receives, self_.events); }
  // `why` is what a reader is told; nothing: it ended as it should.
  void end(const char* why);
  // There was nobody.
  void drop() { ended_ = true; }

  Self& self_;
  std::optional<Link> link_;
  std::string peer_ = "?";

 private:
  int socket_;
  bool ended_ = false, greeted_ = false;
  std::vector<char> heard_;
};

// Asks: draws batches of SEND, WRITE, READ and atomics from a seed, and tells the other side what it is to find.
class Caller : public Session {
 public:
  Caller(Self& self, int socket, std::uint64_t seed);
  [[nodiscard]] bool connecting() const override { return connecting_; }
  void finish() override;
  void on_connected();

 private:
  struct Expected {
    std::size_t from = 0;  // where it lies here
    std::size_t at = 0;    // its position in the pattern, or the value of a counter
    std::uint32_t bytes = 0;
    bool atomic = false;
  };
  void on_hello(const Hello& hello) override;
  void on_completion(const ibv_wc& wc) override;
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  std::uint32_t draw_bytes(std::uint32_t most_bits) {
    return static_cast<std::uint32_t>(draw(1ull << draw(most_bits + 1)));
  }
  void begin_batch();
  bool add_write(std::size_t& room);
  bool add_send(std::size_t& room);
  bool add_read(std::size_t& room);
  bool add_atomic();
  void post(Request request, bool must_signal);
  void post_note();
  void advance();
  void check_results();
  void check_reply(const ibv_wc& wc);

  std::uint64_t seed_;
  std::mt19937_64 random_;
  bool connecting_ = true, finishing_ = false, replied_ = false, noted_ = false, late_note_ = false;
  std::uint64_t sequence_ = 0, posted_ = 0, signaled_ = 0, completed_ = 0, batches_ = 0;
  std::uint64_t last_id_ = 0, batch_bytes_ = 0, read_seed_ = 0;
  std::array<std::uint64_t, kCounters> counters_{};
  std::vector<Expected> expected_;
  std::size_t next_word_ = 0;
  Note note_;
};

// Answers: checks what arrives, and each batch's note against what lies in memory.
class Answerer : public Session {
 public:
  Answerer(Self& self, int socket) : Session(self, socket) {}
  void finish() override { end(nullptr); }

 private:
  void on_hello(const Hello& hello) override;
  void on_completion(const ibv_wc& wc) override;
  void on_message(std::uint64_t slot, std::uint32_t bytes);
  void on_note(const Note& note);
  void check_written(const Note& note);
  void reply();

  std::uint64_t seed_ = 0, sequence_ = 0, notes_ = 0;
  std::optional<Note> owed_;
  bool replying_ = false;
};

}  // namespace soak
