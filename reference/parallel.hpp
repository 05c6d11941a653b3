#pragma once
#include <cstdint>
#include <functional>

namespace ulpscope {

/// Calls body(i) for every i in [0, n) on up to `threads` threads (0: all cores), each i once, in no promised
/// order. Work must not depend on which thread runs it: results stay the same for any number of threads. The
/// first exception thrown by a body is rethrown here after the others have finished.
void parallel_for(std::int64_t n, int threads, const std::function<void(std::int64_t)>& body);

int hardware_threads();

}  // namespace ulpscope
