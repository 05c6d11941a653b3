#include "harness/worker_seats.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/worker_process.hpp"
#include "kernels/support/device_info.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

/// GPUs that CUDA shows; throws Error with the reason if there are none.
int count_gpus() {
  WorkerProcess counting([](Channel& channel) {
    std::string reason;
    const int gpus = visible_gpus(reason);
    channel.send(json{{"gpus", gpus}, {"reason", reason}}.dump());
  });
  const auto answer = counting.channel().receive();
  if (!answer) throw Error("--device cuda: looking for GPUs, a process " + counting.wait());
  const json found = json::parse(*answer);
  if (found["gpus"] == 0) throw Error("--device cuda: " + found["reason"].get<std::string>());
  return found["gpus"].get<int>();
}

/// The entries of a list such as "2,GPU-8f1c...".
std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    entries.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return entries;
}

}  // namespace

std::vector<Seat> gpu_seats(const Workers& workers, int gpus, const std::string& visible) {
  std::vector<int> chosen = workers.gpus;
  if (workers.all_gpus)
    for (int i = 0; i < gpus; ++i) chosen.push_back(i);
  // Numbers count what is visible already, as everywhere in CUDA.
  const std::vector<std::string> entries = entries_of(visible);
  std::vector<Seat> seats;
  for (const int gpu : chosen) {
    if (gpu >= gpus)
      throw Error(fmt::format("--device: there is no GPU {} here, {}", gpu,
                              gpus == 1 ? "only GPU 0" : fmt::format("only GPUs 0 to {}", gpus - 1)));
    const auto at = static_cast<std::size_t>(gpu);
    seats.push_back({fmt::format("GPU {}", gpu), gpu,
                     visible.empty() || at >= entries.size() ? std::to_string(gpu) : entries[at]});
  }
  return seats;
}

std::vector<Seat> seats_of(const Workers& workers) {
  std::vector<Seat> seats;
  for (int i = 1; i <= workers.host; ++i) seats.push_back({fmt::format("worker {}", i), -1, ""});
  if (workers.host > 0) return seats;
  const char* visible = std::getenv(kVisible);
  return gpu_seats(workers, count_gpus(), visible ? visible : "");
}

void take_seat(const Seat& seat) {
  if (seat.gpu >= 0) ::setenv(kVisible, seat.visible.c_str(), 1);
}

void leave_seat(const Seat& seat, json& environment) {
  if (seat.gpu < 0) return;
  environment["device"]["index"] = seat.gpu;
  environment["variables"].erase(kVisible);
  if (const char* visible = std::getenv(kVisible)) environment["variables"][kVisible] = visible;
}

json device_entry(const Seat& seat, const json& environment) {
  json entry{{"index", seat.gpu}};
  const json device = environment.value("device", json::object());
  for (const char* key : {"name", "uuid", "pci"}) entry[key] = device.value(key, json());
  for (const char* key : {"arithmetic_agrees", "arithmetic_reason"})
    entry[key] = environment.value(key, json());
  return entry;
}

}  // namespace ulpscope
