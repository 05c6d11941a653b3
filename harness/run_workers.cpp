#include "harness/run_workers.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <numeric>

#include "harness/merge.hpp"
#include "harness/run_case.hpp"
#include "harness/worker_process.hpp"
#include "harness/worker_seats.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

constexpr int kDeaths = 2;  // a case that this many workers ended on is given up
constexpr const char* kStop = "stop";

/// What a worker's process does: cases by number, until it is told to stop.
void serve(const std::vector<Case>& cases, RunOptions options, const Seat& seat, Channel& channel) {
  const auto tell = [&](const char* what, const json& value) { channel.send(json{{what, value}}.dump()); };
  options.workers = {};
  options.progress = [&](const std::string& line) { tell("say", line); };
  try {
    take_seat(seat);
    CaseRunner runner(options);
    tell("ready", runner.environment());
    while (const auto message = channel.receive()) {
      if (*message == kStop) return;
      Record done;
      runner.run(cases.at(std::stoul(*message)), done);
      tell("done", {{"results", done.results}, {"timings", done.timings}});
    }
  } catch (const Error& e) {
    tell("refused", e.what());
  } catch (const std::bad_alloc&) {
    tell("refused", "out of host memory: choose a smaller case or fewer workers");
  }
}

struct Worker {
  Seat seat;
  int threads = 1;
  std::unique_ptr<WorkerProcess> process;  // null: none now
  bool ready = false;                      // the process runs cases
  std::optional<std::size_t> at;           // the case in hand
  std::string said, refused;               // its last words
  std::string gone;                        // why this seat is given up; "": it is not
  json environment;                        // null until it was ready once
  int started = 0, cases = 0;
};

class Scheduler {
 public:
  Scheduler(const std::vector<Case>& cases, const RunOptions& options)
      : cases_(cases), options_(options), deaths_(cases.size()) {
    const std::vector<Seat> seats = seats_of(options.workers);
    const std::size_t n = std::min(seats.size(), cases.size());
    const int threads = options.threads > 0 ? options.threads : hardware_threads();
    for (std::size_t i = 0; i < seats.size(); ++i) {
      workers_.push_back({});
      workers_[i].seat = seats[i];
      const auto share = static_cast<int>((static_cast<std::size_t>(threads) + n - 1 - i % n) / n);
      workers_[i].threads = std::max(1, share);
    }
    patience_ = static_cast<double>(threads) / std::max(1, threads / static_cast<int>(n));
    // The longest first: one that comes last would leave the others idle.
    std::vector<double> work;
    for (const Case& test : cases) {
      const Contraction c = lower(test.problem);
      work.push_back(static_cast<double>(c.outputs()) * static_cast<double>(c.terms()));
    }
    waiting_.resize(cases.size());
    std::iota(waiting_.begin(), waiting_.end(), 0);
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [&](std::size_t x, std::size_t y) { return work[x] > work[y]; });
  }

  Record operator()() {
    while (start_workers(), hand_out(), busy()) listen();
    for (Worker& w : workers_)
      if (w.process) w.process->channel().send(kStop);
    for (Worker& w : workers_)
      if (w.process) w.process->wait();
    return record();
  }

 private:
  bool busy() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& w) { return w.process && (w.at || !w.ready); });
  }

  // As many as there are cases left for; a seat that was given up is made good by the next one.
  void start_workers() {
    std::size_t running = 0, wanted = waiting_.size();
    for (const Worker& w : workers_) {
      running += w.process != nullptr;
      wanted += w.at.has_value();
    }
    for (Worker& w : workers_) {
      if (running >= wanted) return;
      if (w.process || !w.gone.empty()) continue;
      RunOptions options = options_;
      options.threads = w.threads;
      options.patience = patience_;
      w.ready = false;
      w.refused.clear();
      w.process = std::make_unique<WorkerProcess>(
          [&, options](Channel& channel) { serve(cases_, options, w.seat, channel); });
      ++w.started;
      ++running;
    }
  }

  void hand_out() {
    for (Worker& w : workers_) {
      if (waiting_.empty()) return;
      if (!w.process || !w.ready || w.at) continue;
      w.at = waiting_.front();
      waiting_.pop_front();
      w.process->channel().send(std::to_string(*w.at));  // one that is gone is noticed by listen()
    }
  }

  void listen() {
    std::vector<pollfd> polled;
    std::vector<Worker*> who;
    for (Worker& w : workers_)
      if (w.process) {
        polled.push_back({w.process->channel().fd(), POLLIN, 0});
        who.push_back(&w);
      }
    if (::poll(polled.data(), polled.size(), -1) < 0) return;  // a signal: look again
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (polled[i].revents == 0) continue;
      std::vector<std::string> messages;
      const bool open = who[i]->process->channel().take(messages);
      for (const std::string& m : messages) hear(*who[i], json::parse(m));
      if (!open && who[i]->process) ended(*who[i]);
    }
  }

  void hear(Worker& w, const json& message) {
    if (message.contains("say")) {
      w.said = message["say"].get<std::string>();
      if (options_.progress)
        options_.progress(fmt::format("[{}/{}] {}: {}", finished_, cases_.size(), w.seat.name, w.said));
    } else if (message.contains("ready")) {
      w.environment = message["ready"];
      w.ready = true;
      check_alike(w);
    } else if (message.contains("refused")) {
      w.refused = message["refused"].get<std::string>();
    } else if (message.contains("done")) {
      take_results(w, message["done"]);
    }
  }

  void take_results(Worker& w, const json& done) {
    bool failed = false;
    for (const json& row : done["results"]) {
      failed = failed || row["verdict"] == "error";
      record_.results.push_back(row);
    }
    for (const json& row : done["timings"]) record_.timings.push_back(row);
    w.at.reset();
    ++w.cases;
    ++finished_;
    // A fault in a kernel ends the context: the cases to come get a fresh process.
    if (failed) w.process.reset();
  }

  // GPUs that differ would make a result depend on which of them took the case.
  void check_alike(const Worker& w) const {
    for (const Worker& other : workers_) {
      if (&other == &w || other.environment.is_null()) continue;
      const std::string found = environment_difference(other.environment, w.environment);
      if (!found.empty())
        throw Error(fmt::format("{} and {} are not alike: {}; choose equal ones with --device cuda:0,1,...",
                                other.seat.name, w.seat.name, found));
    }
  }

  void ended(Worker& w) {
    std::string how = w.process->wait();
    if (!w.refused.empty()) how = w.refused;
    w.process.reset();
    if (w.at) {
      std::string& why = last_words_[*w.at];
      why +=
          fmt::format("{}the process on {} {} ({})", why.empty() ? "" : "; ", w.seat.name,
                      w.refused.empty() ? how : "gave up: " + how, w.said.empty() ? "at its start" : w.said);
      // Once more, since the device may be to blame; not for ever, since the case may be.
      if (++deaths_[*w.at] < kDeaths) {
        waiting_.push_front(*w.at);
      } else {
        lost_.push_back(*w.at);
        ++finished_;
      }
      w.at.reset();
    } else if (!w.ready) {
      w.gone = how;
    }
  }

  Record record() {
    const auto first = std::find_if(workers_.begin(), workers_.end(),
                                    [](const Worker& w) { return !w.environment.is_null(); });
    if (first == workers_.end())
      throw Error(fmt::format("no worker can start: {}: {}", workers_[0].seat.name, workers_[0].gone));
    // Only now: what a case would have run asks the libraries, and a process that has used its GPU can start
    // no further worker.
    const CaptureFolder folder = folder_of(options_, first->environment);
    for (const std::size_t i : waiting_) {
      last_words_[i] = "no worker is left";
      for (const Worker& w : workers_)
        if (!w.gone.empty()) last_words_[i] += fmt::format("; {}: {}", w.seat.name, w.gone);
      lost_.push_back(i);
    }
    for (const std::size_t i : lost_) append_failed(cases_[i], options_, folder, last_words_[i], record_);
    record_.environment = first->environment;
    leave_seat(first->seat, record_.environment);
    describe_workers();
    sort_record(record_);
    return std::move(record_);
  }

  void describe_workers() {
    json devices = json::array(), list = json::array();
    for (const Worker& w : workers_) {
      if (w.started == 0) continue;
      json entry{{"name", w.seat.name}, {"threads", w.threads}, {"cases", w.cases}, {"started", w.started}};
      if (!w.gone.empty()) entry["gone"] = w.gone;
      list.push_back(entry);
      if (w.seat.gpu >= 0 && !w.environment.is_null()) devices.push_back(device_entry(w.seat, w.environment));
    }
    record_.environment["workers"] = list;
    if (!devices.empty()) record_.environment["devices"] = devices;
  }

  const std::vector<Case>& cases_;
  const RunOptions& options_;
  std::vector<Worker> workers_;
  std::deque<std::size_t> waiting_;
  std::vector<std::size_t> lost_;
  std::vector<int> deaths_;
  std::map<std::size_t, std::string> last_words_;
  std::size_t finished_ = 0;
  double patience_ = 1;
  Record record_;
};

}  // namespace

Record run_on_workers(const std::vector<Case>& cases, const RunOptions& options) {
  return Scheduler(cases, options)();
}

}  // namespace ulpscope
