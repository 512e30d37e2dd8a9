#include "gpu_service/client/client_search.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "gpu_service/client/client_work.hpp"

namespace simjoin {
namespace {

constexpr std::chrono::milliseconds between_looks_at_pool{10};

// One search: sends the sets, and hands on what is found.
class RemoteSearch {
 public:
  RemoteSearch(const std::shared_ptr<ClientConnection> &connection, const WeightedProblem &problem,
               const std::function<void(const WeightedFinds &)> &take)
      : work_(connection), problem_(problem), take_(take), pairs_(problem.memory) {
    const WeightedBounds &bounds = problem.bounds;
    SentSearch sent = {bounds.of_cosine(),
                       problem.self_join,
                       problem.index.format.wide,
                       problem.largest_set,
                       problem.ranks,
                       bounds.threshold(),
                       problem.device_memory,
                       {},
                       {}};
    add(problem.index, 0, sent);
    if (!problem.self_join) add(problem.probes, 1, sent);
    work_.post(Ask::search, bytes_of(sent));
    for (int credit = 0; credit < ClientWork::most_credits; ++credit) work_.post(Ask::credit);
  }

  void run() {
    const StopFlag &stop = problem_.pool.stop();
    while (!done_) {
      stop.check();
      const bool sends = admitted_ && !send_arrays();
      if (const auto received = work_.next())
        receive(*received);
      else
        work_.wait(ClientWork::Clock::now() + between_looks_at_pool, sends, &stop);
    }
    if (end_ != problem_.probes.sets()) work_.throw_ended();
  }

 private:
  template <class T>
  void add(const Buffer<T> &array) {
    arrays_.push_back({reinterpret_cast<const char *>(array.data()), array.size() * sizeof(T)});
  }
  void add(const WeightedSets &sets, size_t side, SentSearch &sent) {
    sent.sets[side] = sets.totals.size();
    sent.tokens[side] = sets.ranks.size();
    add(sets.starts), add(sets.totals), add(sets.ranks);
    sets.format.wide ? add(sets.doubles) : add(sets.floats);
  }

  // Sends arrays as far as there is room. Returns whether all have gone.
  bool send_arrays() {
    for (; arrays_sent_ < arrays_.size(); ++arrays_sent_, bytes_sent_ = 0) {
      const std::span<const char> bytes = arrays_[arrays_sent_];
      if (!work_.send_bytes(bytes.data(), bytes.size(), bytes_sent_)) return false;
    }
    return true;
  }

  void receive(const ClientWork::Received &received) {
    switch (received.reply.answer) {
      case Answer::admitted:
        admitted_ = true;
        return;
      case Answer::candidates:
        add_pairs(received.payload);
        break;
      case Answer::finds:
        add_finds(received.payload);
        break;
      case Answer::done:
        done_ = true;
        return;
      default:
        work_.throw_ended();
    }
    work_.post(Ask::credit);
  }

  void add_pairs(std::span<const char> bytes) {
    const size_t count = bytes.size() / sizeof(WeightedPair);
    if (bytes.size() % sizeof(WeightedPair) != 0 ||
        (pairs_.size() + count) / std::max<size_t>(problem_.index.sets(), 1) > problem_.probes.sets() - end_)
      work_.throw_ended();
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(pairs_.extend(count)));
  }

  void add_finds(std::span<const char> bytes) {
    SentFinds sent;
    if (bytes.size() != sizeof sent) work_.throw_ended();
    std::memcpy(&sent, bytes.data(), sizeof sent);
    const auto fits = [&](const WeightedPair &pair) {
      return pair.probe >= end_ && pair.probe < sent.end &&
             pair.partner < (problem_.self_join ? pair.probe : problem_.index.sets());
    };
    if (sent.end <= end_ || sent.end > problem_.probes.sets() ||
        !std::all_of(pairs_.begin(), pairs_.end(), fits))
      work_.throw_ended();
    end_ = static_cast<uint32_t>(sent.end);
    sent.device[sizeof sent.device - 1] = '\0';
    WeightedFinds finds;
    finds.end = end_;
    finds.pairs = {pairs_.data(), pairs_.size()};
    finds.compatible = sent.compatible;
    finds.candidates = sent.candidates;
    finds.kernel_ms = sent.kernel_ms;
    finds.device = std::string(sent.device) + " (service)";
    finds.memory_peak = sent.memory_peak;
    take_(finds);
    pairs_.clear();
  }

  ClientWork work_;
  const WeightedProblem &problem_;
  const std::function<void(const WeightedFinds &)> &take_;
  std::vector<std::span<const char>> arrays_;
  size_t arrays_sent_ = 0, bytes_sent_ = 0;
  Buffer<WeightedPair> pairs_;  // of the next finds
  uint32_t end_ = 0;            // after the last probe that has had its turn
  bool admitted_ = false, done_ = false;
};

}  // namespace

void ClientSearch::find(const WeightedProblem &problem,
                        const std::function<void(const WeightedFinds &)> &take) {
  if (const auto connection = connection_())
    RemoteSearch(connection, problem, take).run();
  else
    own_().find(problem, take);
}

}  // namespace simjoin
