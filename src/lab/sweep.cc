#include "lab/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace weft::lab {
namespace {

using Clock = std::chrono::steady_clock;

PointResult run_one(const Setting& setting, const SweepOptions& options) {
  try {
    return {options.run(setting), ""};
  } catch (const std::exception& error) {
    return {{}, error.what()};
  }
}

// How long a run takes is unknown, but grows with queue pairs and packets: good enough to say how much is left.
double weight(const Setting& setting) {
  const Messages messages = messages_of(setting);
  const double packets = 1 + static_cast<double>(setting.bytes) / setting.mtu;
  return static_cast<double>(messages.warm_up + messages.measured) * packets + setting.qps;
}

class Counter {
 public:
  Counter(std::size_t total, double weight, const SweepOptions& options)
      : total_(total), weight_(weight), options_(options), start_(Clock::now()) {
    if (options_.on_progress) options_.on_progress({0, total_, -1});
  }
  void one_more(double weight) {
    const std::lock_guard lock(mutex_);
    ++done_;
    weight_done_ += weight;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (options_.on_progress) options_.on_progress({done_, total_, seconds / weight_done_ * (weight_ - weight_done_)});
  }

 private:
  const std::size_t total_;
  const double weight_;
  const SweepOptions& options_;
  const Clock::time_point start_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  double weight_done_ = 0;
};

}  // namespace

std::vector<PointResult> run_all(std::span<const Setting* const> settings, const SweepOptions& options) {
  std::map<std::string, std::size_t> known;
  std::vector<const Setting*> distinct;
  std::vector<std::size_t> which;  // of the distinct ones, for each setting
  double whole = 0;
  for (const Setting* setting : settings) {
    const auto [at, is_new] = known.emplace(fingerprint(*setting), distinct.size());
    if (is_new) {
      distinct.push_back(setting);
      whole += weight(*setting);
    }
    which.push_back(at->second);
  }

  // The heaviest first, so that no thread is left alone with one at the end.
  std::vector<std::size_t> order(distinct.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weight(*distinct[a]) > weight(*distinct[b]); });

  std::vector<PointResult> results(distinct.size());
  std::atomic<std::size_t> next = 0;
  Counter counter(distinct.size(), whole, options);
  const auto work = [&] {
    for (std::size_t i = next++; i < order.size(); i = next++) {
      results[order[i]] = run_one(*distinct[order[i]], options);
      counter.one_more(weight(*distinct[order[i]]));
    }
  };
  const std::size_t jobs = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(jobs, distinct.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::vector<PointResult> out;
  for (const std::size_t i : which) out.push_back(results[i]);
  return out;
}

void run_studies(std::span<Study> studies, const SweepOptions& options) {
  std::deque<Setting> seeded;  // stay where they are
  std::vector<const Setting*> settings;
  for (const Study& study : studies) {
    for (const Sample& sample : study.samples) {
      for (const Point& point : study.points) {
        settings.push_back(&seeded.emplace_back(point.setting));
        seeded.back().seed += sample.number;
      }
    }
  }
  std::vector<PointResult> results = run_all(settings, options);
  auto next = results.begin();
  for (Study& study : studies) {
    for (Sample& sample : study.samples) {
      const auto end = next + static_cast<std::ptrdiff_t>(study.points.size());
      sample.results.assign(next, end);
      next = end;
    }
  }
}

}  // namespace weft::lab
