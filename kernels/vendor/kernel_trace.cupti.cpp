#include "kernels/vendor/kernel_trace.hpp"

#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/shared_library.hpp"
#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

struct CuptiApi {
  decltype(&::cuptiGetVersion) GetVersion;
  decltype(&::cuptiGetResultString) GetResultString;
  decltype(&::cuptiActivityRegisterCallbacks) ActivityRegisterCallbacks;
  decltype(&::cuptiActivityEnable) ActivityEnable;
  decltype(&::cuptiActivityDisable) ActivityDisable;
  decltype(&::cuptiActivityFlushAll) ActivityFlushAll;
  decltype(&::cuptiActivityGetNextRecord) ActivityGetNextRecord;
};

struct Loaded {
  LibraryState state;
  CuptiApi api{};
};

const Loaded& loaded() {
  static const Loaded l = [] {
    Loaded r;
    const std::string major = std::to_string(CUPTI_API_VERSION / 10000);
    const SharedLibrary library("CUPTI", {"libcupti.so." + major}, "ULPSCOPE_LIBCUPTI");
    r.state.missing = library.missing();
    if (!library.loaded()) return r;
    try {
      library.load(r.api.GetVersion, "cuptiGetVersion");
      library.load(r.api.GetResultString, "cuptiGetResultString");
      library.load(r.api.ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
      library.load(r.api.ActivityEnable, "cuptiActivityEnable");
      library.load(r.api.ActivityDisable, "cuptiActivityDisable");
      library.load(r.api.ActivityFlushAll, "cuptiActivityFlushAll");
      library.load(r.api.ActivityGetNextRecord, "cuptiActivityGetNextRecord");
      r.state.path = library.path_of(reinterpret_cast<const void*>(r.api.GetVersion));
      std::uint32_t v = 0;
      r.api.GetVersion(&v);  // 130001 = 13.0.1
      r.state.version =
          std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
    } catch (const Error& e) {
      r.state.missing = e.what();
    }
    return r;
  }();
  return l;
}

// CUPTI's callbacks carry no user pointer, hence the one trace per process.
std::mutex g_mutex;
std::vector<std::pair<std::uint64_t, std::string>> g_records;  // start time, name

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}

constexpr std::size_t kBufferBytes = 1 << 20;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  // CUPTI wants 8-byte alignment; 64 keeps records from straddling cache lines needlessly.
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *size = *buffer ? kBufferBytes : 0;
  *max_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    CUpti_Activity* record = nullptr;
    while (valid != 0 && loaded().api.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
      // Newer records only append fields, so `start` and `name` are where this version puts them.
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      if (kernel->name) g_records.emplace_back(kernel->start, demangled(kernel->name));
    }
  }
  std::free(buffer);
}

std::string refusal(CUptiResult result) {
  const char* text = nullptr;
  loaded().api.GetResultString(result, &text);
  return std::string("CUPTI refused: ") + (text ? text : "unknown result");
}

}  // namespace

const LibraryState& cupti_state() {
  return loaded().state;
}

KernelTrace::KernelTrace() : unavailable_(cupti_state().missing) {
  if (!unavailable_.empty()) return;
  const CuptiApi& cupti = loaded().api;
  static const CUptiResult registered = cupti.ActivityRegisterCallbacks(give_buffer, take_buffer);
  CUptiResult result = registered;
  if (result == CUPTI_SUCCESS) result = cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result != CUPTI_SUCCESS) {
    unavailable_ = refusal(result);
    return;
  }
  active_ = true;
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_records.clear();
}

KernelTrace::~KernelTrace() {
  if (active_) finish();
}

std::vector<std::string> KernelTrace::finish() {
  if (!active_) return {};
  active_ = false;
  const CuptiApi& cupti = loaded().api;
  CUptiResult result = cupti.ActivityFlushAll(1);
  if (result == CUPTI_SUCCESS) result = cupti.ActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result != CUPTI_SUCCESS) unavailable_ = refusal(result);
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::stable_sort(g_records.begin(), g_records.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> names;
  for (auto& [start, name] : g_records) names.push_back(std::move(name));
  g_records.clear();
  return names;
}

}  // namespace ulpscope::vendor
