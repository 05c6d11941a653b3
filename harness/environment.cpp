#include "harness/environment.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string_view>

#include "harness/commit.hpp"
#include "harness/version.hpp"
#include "kernels/support/device_info.hpp"
#include "reference/parallel.hpp"
#include "reference/simd.hpp"

extern char** environ;

namespace ulpscope {
namespace {

using nlohmann::json;

// The value after "key", a separator and blanks in a file of such lines; "" if there is none.
std::string value_in_file(const char* path, const std::string& key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t from = line.find_first_not_of(" \t\"", at + 1);
    if (from == std::string::npos) continue;
    return line.substr(from, line.find_last_not_of(" \t\"") + 1 - from);
  }
  return "";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

json host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  utsname system{};
  uname(&system);
  const std::string given = variable("ULPSCOPE_HOST");
  return {{"name", given.empty() ? std::string(name.data()) : given},
          {"cpu", value_in_file("/proc/cpuinfo", "model name", ':')},
          {"cores", hardware_threads()},
          {"memory_bytes", static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::int64_t>(sysconf(_SC_PAGESIZE))},
          {"os", value_in_file("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", std::string(system.sysname) + " " + system.release + " " + system.machine},
          {"simd", to_string(simd_level())}};
}

json device(const DeviceInfo& d) {
  if (!d.available) return {{"available", false}, {"reason", d.reason}};
  return {{"available", true},
          {"name", d.name},
          {"index", d.index},
          {"uuid", d.uuid},
          {"pci", d.pci_bus},
          {"compute_capability", std::to_string(d.cc_major) + "." + std::to_string(d.cc_minor)},
          {"multiprocessors", d.multiprocessors},
          {"memory_bytes", d.memory_bytes},
          {"clock_khz", d.clock_khz}};
}

// As CUDA numbers its versions: 13010 is 13.1.
std::string cuda_version(int version) {
  return version == 0 ? "" : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

json libraries(const DeviceInfo& d) {
  json list = json::object();
  auto add = [&](const char* name, const std::string& version, const std::string& missing) {
    if (!version.empty())
      list[name] = version;
    else if (!missing.empty())
      list[std::string(name) + "_missing"] = missing;
  };
  add("driver", cuda_version(d.driver_version), "");
  add("runtime", cuda_version(d.runtime_version), "");
  add("cublas", d.cublas_version, d.cublas_missing);
  add("cudnn", d.cudnn_version, d.cudnn_missing);
  add("cupti", d.cupti_version, d.cupti_missing);
  return list;
}

json variables() {
  json set = json::object();
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(text.substr(0, equals));
    if (changes_arithmetic(name)) set[name] = std::string(text.substr(equals + 1));
  }
  return set;
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&t, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace

bool changes_arithmetic(const std::string& name) {
  // TF32 switches, library heuristics, emulation and logging, device choice and JIT, host thread counts and
  // preloaded libraries.
  for (const std::string_view prefix :
       {"NVIDIA_TF32_OVERRIDE", "CUBLAS_", "CUBLASLT_", "CUDNN_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUDA_MODULE_LOADING",
        "CUDA_INJECTION64_PATH", "TORCH_ALLOW_TF32", "OMP_", "GOMP_", "OPENBLAS_", "MKL_", "GLIBC_TUNABLES",
        "LD_PRELOAD", "ULPSCOPE_"})
    if (name.starts_with(prefix))
      return !name.starts_with("ULPSCOPE_PRESET") && !name.starts_with("ULPSCOPE_TARGETS");
  return false;
}

json describe_environment(const std::vector<std::string>& argv) {
  const DeviceInfo& d = device_info();
  const std::string given = variable("ULPSCOPE_COMMIT");
  const bool unknown = std::string_view(kCommit) == "unknown";
  return {{"version", kVersion},
          {"commit", unknown && !given.empty() ? given : std::string(kCommit)},
          {"dirty", kCommitDirty},
          {"argv", argv},
          {"started", now()},
          {"host", host()},
          {"build",
           {{"type", kBuildType},
            {"compiler", kCompiler},
            {"flags", kCompilerFlags},
            {"sanitized", kSanitized},
            {"cuda", kBuiltWithCuda}}},
          {"device", device(d)},
          {"libraries", libraries(d)},
          {"variables", variables()}};
}

}  // namespace ulpscope
