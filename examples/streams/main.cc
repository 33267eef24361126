// weft-streams [ROUNDS [MILLISECONDS [BYTES]]]: what kernels on the receiver's card make of a stream. Two processes;
// each way takes its turn in each round, and is shown beside plain WRITEs: the median of all rounds' ratios.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "receiver.h"
#include "sender.h"

namespace {

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// A number from 1 to `most`.
std::uint32_t number(const char* text, std::uint32_t most) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (end == text || *end != 0 || value == 0 || value > most)
    examples::give_up(std::string("'") + text + "' is no number from 1 to " + std::to_string(most));
  return static_cast<std::uint32_t>(value);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 4) examples::give_up("at most three numbers: ROUNDS MILLISECONDS BYTES");
  const std::uint32_t rounds = argc > 1 ? number(argv[1], 1000) : 5;
  const std::uint32_t milliseconds = argc > 2 ? number(argv[2], 60'000) : 200;
  const std::uint32_t bytes = argc > 3 ? number(argv[3], streams::kPartitionBytes) : streams::kPartitionBytes;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) examples::give_up("there is no socket");
  examples::Socket sending(ends[0]), receiving(ends[1]);
  const pid_t receiver = fork();  // before there is a card
  if (receiver == 0) {
    sending = examples::Socket();
    streams::receive(receiving);
    return 0;
  }
  receiving = examples::Socket();
  std::vector<std::vector<double>> rates(streams::kWays.size());
  {
    streams::Sender sender(sending, bytes);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::size_t w = 0; w < rates.size(); ++w)
        rates[w].push_back(sender.measure(streams::kWays[w], milliseconds));
    }
  }
  for (std::size_t w = 0; w < rates.size(); ++w) {
    std::vector<double> ratios;
    for (std::uint32_t round = 0; round < rounds; ++round) ratios.push_back(rates[w][round] / rates[0][round]);
    std::printf("%-8s  %6.0f MB/s  %.2f of write\n", streams::kWays[w], median_of(rates[w]) / 1e6, median_of(ratios));
  }
  sending = examples::Socket();
  int status = 0;
  waitpid(receiver, &status, 0);
  return status == 0 ? 0 : 1;
}
