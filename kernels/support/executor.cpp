#include "kernels/support/executor.hpp"

#include <map>

namespace ulpscope {
namespace {
// Function-local: registration happens during static initialisation, in any order.
std::map<Where, ExecutorFactory>& factories() {
  static std::map<Where, ExecutorFactory> map;
  return map;
}
}  // namespace

RegisterExecutor::RegisterExecutor(Where where, ExecutorFactory factory) {
  factories()[where] = std::move(factory);
}

std::unique_ptr<Executor> make_executor(Where where, std::string& reason) {
  const auto found = factories().find(where);
  if (found == factories().end()) {
    reason = where == Where::cuda ? "this build has no CUDA support (configure with --preset cuda)"
                                  : "no executor is registered";
    return nullptr;
  }
  return found->second(reason);
}

}  // namespace ulpscope
