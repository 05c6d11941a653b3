#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ulpscope {

/// Everything outside the case that can change a result, for captures and records:
///   version, commit, dirty, argv, started; host {name, cpu, cores, memory_bytes, os, kernel, simd};
///   build {type, compiler, flags, sanitized, cuda}; device {available, reason | name, ...};
///   libraries {driver, runtime, cublas, cudnn, cupti}; variables {the set ones that change arithmetic}.
/// ULPSCOPE_HOST replaces the host's name, ULPSCOPE_COMMIT an unknown commit. Asking for the device starts
/// the CUDA runtime once; nothing here throws.
nlohmann::json describe_environment(const std::vector<std::string>& argv);

/// Whether a variable of this name may change what a kernel or a library computes, and so is recorded.
bool changes_arithmetic(const std::string& variable);

}  // namespace ulpscope
