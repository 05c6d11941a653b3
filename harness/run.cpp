#include "harness/run.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "harness/run_case.hpp"
#include "harness/run_workers.hpp"
#include "harness/suggest.hpp"
#include "harness/version.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

}  // namespace

std::vector<Job> wanted_jobs(const Case& test, const RunOptions& options) {
  std::vector<Job> jobs;
  for (const Variant* v : variants_of(test.problem.params.op)) {
    const auto& wanted = options.variants.empty() ? test.variants : options.variants;
    if (!wanted.empty() && !matches(wanted, v->name)) continue;
    if (options.device == DeviceChoice::cpu && v->where == Where::cuda) continue;
    if (options.device == DeviceChoice::cuda && v->where == Where::host) continue;
    for (const Mode mode : v->modes)
      if (options.modes.empty() ||
          std::find(options.modes.begin(), options.modes.end(), mode) != options.modes.end())
        jobs.push_back({v, mode, ""});
  }
  return jobs;
}

std::vector<Job> jobs_of(const Case& test, const RunOptions& options, const std::string& no_cuda) {
  std::vector<Job> jobs = wanted_jobs(test, options);
  for (Job& job : jobs) {
    const Variant& v = *job.variant;
    if (v.unsupported) job.skip = v.unsupported(test.problem, test.in, test.out, job.mode);
    if (job.skip.empty() && v.where == Where::cuda) job.skip = no_cuda;
  }
  return jobs;
}

void check_selection(const std::vector<Case>& cases, const RunOptions& options) {
  std::set<std::string> names;
  std::size_t jobs = 0;
  for (const Case& test : cases) {
    for (const Variant* v : variants_of(test.problem.params.op)) names.insert(v->name);
    jobs += wanted_jobs(test, options).size();
  }
  for (const std::string& pattern : options.variants)
    if (std::none_of(names.begin(), names.end(), [&](const std::string& n) { return matches({pattern}, n); }))
      throw Error("no variant of these cases is called '" + pattern + "'" +
                  suggestion(pattern, {names.begin(), names.end()}));
  if (jobs == 0 && options.device == DeviceChoice::cuda && !kBuiltWithCuda)
    throw Error(
        "--device cuda: this program was built without CUDA (cmake --preset cuda, where nvcc is, builds it "
        "with)");
  if (jobs == 0)
    throw Error(
        "nothing to run: no variant of these cases fits the given --variant, --mode and --device "
        "(ulpscope list shows what there is)");
}

Record run_cases(const std::vector<Case>& cases, const RunOptions& options) {
  if (!options.selection_checked) check_selection(cases, options);
  if (options.workers.any()) return run_on_workers(cases, options);
  CaseRunner runner(options);
  Record record;
  record.environment = runner.environment();
  for (const Case& test : cases) runner.run(test, record);
  sort_record(record);
  return record;
}

}  // namespace ulpscope
