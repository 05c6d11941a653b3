#include "harness/run_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/bound.hpp"
#include "harness/capture.hpp"
#include "harness/environment.hpp"
#include "harness/found_plan.hpp"
#include "harness/inputs.hpp"
#include "harness/ladder/result_ladder.hpp"
#include "harness/probe/device_check.hpp"
#include "harness/run_probe.hpp"
#include "harness/run_slabs.hpp"
#include "harness/transform_bound.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

/// Bounds and expectations of one case, each worked out once: many variants share a plan.
class Limits {
 public:
  Limits(const Case& test, const Contraction& c, const Operands& operands, int threads)
      : test_(test), c_(c), operands_(operands), threads_(threads) {}

  const OutputBound& bound(const std::shared_ptr<const Plan>& plan, Mode mode, Transform transform) {
    std::string why;
    const bool usable = plan && output_format(*plan) == test_.out && admits(mode, test_.in, *plan, why);
    const bool transformed = !usable && transform != Transform::none;
    const std::string key = usable ? to_string(*plan)
                            : transformed
                                ? fmt::format("transform {} {}", static_cast<int>(transform), to_string(mode))
                                : std::string("mode ") + to_string(mode);
    const auto found = bounds_.find(key);
    if (found != bounds_.end()) return found->second;
    return bounds_
        .emplace(key, usable        ? bound_of_plan(*plan, c_, operands_, threads_)
                      : transformed ? bound_of_transform(transform, test_.problem, mode, test_.in, test_.out,
                                                         operands_, threads_)
                                    : bound_of_mode(mode, test_.in, test_.out, c_, operands_, threads_))
        .first->second;
  }

  std::optional<double> expected(const std::shared_ptr<const Plan>& plan, Mode mode, Transform transform) {
    if (!plan && transform != Transform::none) return {};  // the model walks sums
    const std::string key = plan ? to_string(*plan) : usual_plan(mode, test_.in, test_.out);
    const auto found = expected_.find(key);
    if (found != expected_.end()) return found->second;
    return expected_.emplace(key, expected_max(*parse_plan(key), c_, operands_, threads_)).first->second;
  }

 private:
  const Case& test_;
  const Contraction& c_;
  Operands operands_;
  int threads_;
  std::map<std::string, OutputBound> bounds_;
  std::map<std::string, std::optional<double>> expected_;
};

Result result_of(const Case& test, const Job& job) {
  Result r;
  r.test = test;
  r.variant = job.variant->name;
  r.source = job.variant->source;
  r.mode = job.mode;
  r.evidence.mode = job.mode;
  r.evidence.declared_nondeterministic = !job.variant->deterministic;
  r.reproduce = fmt::format("ulpscope run '{}' --variant {} --mode {} --device {}", to_string(test),
                            r.variant, to_string(r.mode), job.variant->where == Where::cuda ? "cuda" : "cpu");
  return r;
}

FinishedResult finished(const Result& r) {
  return {to_json(r),
          {{"case", r.test.name},
           {"variant", r.variant},
           {"mode", to_string(r.mode)},
           {"device_ms", r.device_ms}}};
}

/// One case on one executor.
class CaseRun {
 public:
  CaseRun(const Case& test, const Contraction& c, const Inputs& inputs, const RunOptions& options,
          const CaptureFolder& folder)
      : test_(test),
        c_(c),
        inputs_(inputs),
        operands_(inputs.operands()),
        options_(options),
        folder_(folder),
        limits_(test, c, operands_, options.threads) {}

  std::vector<Result> run(Executor& executor, const std::vector<Job>& jobs) {
    std::vector<Result> results;
    executor.set_inputs(operands_);
    if (limit_ < 0) limit_ = magnitude_limit(c_, operands_, options_.threads);
    for (std::size_t next = 0; next < jobs.size();) {
      std::vector<Running> batch;
      // Beside a further output there must be room to probe: constant operands, and an output of theirs.
      const std::int64_t bytes =
          2 * c_.outputs() * size_of(test_.out) + (c_.a_size + c_.b_size) * size_of(test_.in);
      while (next < jobs.size() && batch.size() < 32 && (batch.empty() || executor.free_bytes() >= bytes)) {
        Running r = launch(executor, jobs[next++]);
        if (r.candidate.output >= 0) {
          batch.push_back(std::move(r));
        } else {
          results.push_back(std::move(r.result));
        }
      }
      if (!batch.empty()) judge_batch(executor, batch);
      for (Running& r : batch) results.push_back(std::move(r.result));
    }
    return results;
  }

 private:
  struct Running {
    Job job;
    Result result;
    Candidate candidate;
  };

  LaunchArgs args_of(const Job& job) const {
    LaunchArgs args;
    args.problem = &test_.problem;
    args.contraction = &c_;
    args.in_dtype = test_.in;
    args.out_dtype = test_.out;
    args.mode = job.mode;
    args.threads = options_.threads;
    return args;
  }

  void say(const std::string& what) const {
    if (options_.progress) options_.progress(test_.name + ": " + what);
  }

  Running launch(Executor& executor, const Job& job) {
    Running r{job, result_of(test_, job), {}};
    Result& result = r.result;
    result.executed = executor.where() == Where::cuda ? "device" : "host";
    result.input_hash = inputs_.hash;
    result.evidence.outputs = c_.outputs();
    say(fmt::format("running {} in {}", job.variant->name, to_string(job.mode)));
    try {
      result.declared_plan = declared_plan(*job.variant, test_.problem, job.mode, test_.out);
      if (!result.declared_plan.empty()) r.candidate.plan = parse_plan(result.declared_plan);
      const Execution e = executor.execute(*job.variant, args_of(job));
      r.candidate.output = e.output;
      result.notes = e.notes;
      // From the operator, its inputs and the engine's kind; no output has been looked at.
      const Transform transform = transform_of(e.notes);
      r.candidate.bound = limits_.bound(r.candidate.plan, job.mode, transform);
      result.expected_max = limits_.expected(r.candidate.plan, job.mode, transform);
      // What the library itself calls nondeterministic was declared, if not by us.
      for (const std::string& note : e.notes.notes)
        result.evidence.declared_nondeterministic |= note.find("NONDETERMINISTIC") != std::string::npos;
      result.device_ms = e.device_ms;
      Evidence& seen = result.evidence;
      seen.differing = e.differing;
      seen.first_differing = e.first_differing;
      seen.unwritten = e.unwritten;
      seen.first_unwritten = e.first_unwritten;
      seen.guards_intact = e.guards_intact;
      seen.bound_formula = r.candidate.bound.formula;
    } catch (const Error& e) {
      fail(result, e.what());
    }
    return r;
  }

  static void fail(Result& result, const std::string& why) {
    result.evidence.status = "error";
    result.evidence.reason = why;
    result.evidence.measured.reset();
    result.judgement = judge(result.evidence);
  }

  void judge_batch(Executor& executor, std::vector<Running>& batch) {
    std::vector<Candidate> candidates;
    std::vector<int> outputs;
    for (const Running& r : batch) {
      candidates.push_back(r.candidate);
      outputs.push_back(r.candidate.output);
    }
    SlabOptions slabs;
    slabs.out = test_.out;
    slabs.tolerance = test_.tolerance;
    slabs.magnitude_limit = limit_;
    slabs.threads = options_.threads;
    if (options_.replay == ReplayChoice::none) slabs.replay_budget = 0;
    if (options_.replay == ReplayChoice::all) slabs.replay_budget = std::numeric_limits<double>::infinity();
    const std::string what =
        batch.size() > 1 ? fmt::format("{} results", batch.size())
                         : fmt::format("{} in {}", batch[0].job.variant->name, to_string(batch[0].job.mode));
    slabs.progress = [&](std::int64_t done, std::int64_t of) {
      say(fmt::format("judging {}, {} %", what, 100 * done / of));
    };
    try {
      if (options_.replay != ReplayChoice::none)
        for (std::size_t k = 0; k < batch.size(); ++k)
          if (find_plan(executor, batch[k])) candidates[k] = batch[k].candidate;
      const std::vector<SlabResult> judged = judge_slabs(executor, c_, operands_, candidates, slabs);
      const std::vector<std::string> hashes =
          hash_outputs(executor, c_, test_.out, outputs, options_.threads);
      for (std::size_t k = 0; k < batch.size(); ++k) {
        batch[k].result.output_hash = hashes[k];
        conclude(executor, batch[k], judged[k]);
      }
    } catch (const Error& e) {
      for (Running& r : batch) fail(r.result, e.what());
    }
    for (const int output : outputs) executor.release(output);
  }

  /// Where no plan is declared (a library's call), one is searched for in some outputs and then replayed like
  /// a declared one. The bound stays the mode's: it must hold whatever was found. Not for host variants: what
  /// declares no plan there is Eigen, whose order changes with the shape of each block.
  bool find_plan(Executor& executor, Running& r) {
    const Evidence& e = r.result.evidence;
    if (r.candidate.plan || e.differing > 0 || e.declared_nondeterministic || executor.where() == Where::host)
      return false;
    if (transform_of(r.result.notes) != Transform::none) return false;
    constexpr std::int64_t kBytes = 8192;  // of outputs looked at
    Observation seen;
    seen.dtype = test_.out;
    for (const WindowRange& w : plan_windows(c_, test_.out, kBytes, test_.seed)) {
      executor.start_copy(0, {r.candidate.output}, {w.begin, 1, w.count, w.count});
      observe_more(seen, {executor.finish_copy(0).at(0), test_.out, {w.count}}, w.begin);
    }
    say(fmt::format("looking for the plan of {} in {}", r.job.variant->name, to_string(r.job.mode)));
    FindOptions search;
    search.mode = r.job.mode;
    search.engine = r.result.notes.engine;
    search.hints.assign(found_.begin(), found_.end());
    search.seconds = (options_.replay == ReplayChoice::all ? 60 : 5) * options_.patience;
    search.threads = options_.threads;
    const std::string text = found_plan(c_, operands_, test_.in, seen, search);
    if (text.empty()) return false;
    r.candidate.plan = parse_plan(text);
    if (!predicts_bits(*r.candidate.plan, test_.out)) {
      r.candidate.plan = nullptr;
      return false;
    }
    found_.insert(text);
    r.result.expected_max = limits_.expected(r.candidate.plan, r.job.mode, Transform::none);
    return true;
  }

  void conclude(Executor& executor, Running& r, const SlabResult& judged) {
    Evidence& e = r.result.evidence;
    e.measured = judged.measured;
    if (judged.replay.compared > 0) {
      e.replay = judged.replay;
      e.replay->found = r.result.declared_plan.empty();
      e.replay->admitted = admits(r.job.mode, test_.in, *r.candidate.plan, e.replay->not_admitted);
    }
    e.effective_mode = effective_mode(executor, r);
    e.ones = sums_of_ones(executor, r);
    r.result.judgement = judge_on_device(
        e, executor.where() == Where::cuda ? disagreement_in(folder_.environment()) : std::string());
    const int output = r.candidate.output;
    explain_in_place(
        r.result, c_, operands_, sample_of(executor, output, c_, test_.out),
        [&] { return whole_output(executor, output, c_, test_.out); }, options_.explain, options_.threads);
    folder_.store_capture(r.result, executor, r.candidate.output, c_, options_.capture_bytes);
    folder_.store_result(r.result, finished(r.result));  // as soon as it is known: a run may be killed
  }

  // A plan found by search proves nothing of what other data would show: on integers, say, fp32's own plan
  // fits what TF32 gave.
  static bool declared_is_proved(const Running& r) {
    const auto& replay = r.result.evidence.replay;
    return !r.result.declared_plan.empty() && replay && replay->equal == replay->compared;
  }

  SumsOfOnes sums_of_ones(Executor& executor, const Running& r) const {
    // Bits prove the plan, but not where any plan gives them: on zeros, or small integers.
    const auto& measured = r.result.evidence.measured;
    if (declared_is_proved(r) && measured && measured->bound > 0) return {};
    if (transform_of(r.result.notes) != Transform::none) return {};
    try {
      return probe_sums_of_ones(executor, *r.job.variant, args_of(r.job));
    } catch (const Error&) {
      return {};  // no room beside the real operands
    }
  }

  std::string effective_mode(Executor& executor, const Running& r) {
    if (test_.in != DType::f32) return to_string(r.job.mode);  // operands are short already
    const Evidence& e = r.result.evidence;
    std::string found;
    if (declared_is_proved(r)) {
      found = effective_mode_of(*r.candidate.plan);
    } else {
      try {
        found = probe_effective_mode(executor, *r.job.variant, args_of(r.job));
      } catch (const Error&) {
        found = "unknown";  // no room for constant operands beside the real ones, say
      }
    }
    return found == "fp32" && r.job.mode == Mode::strict && e.differing == 0 ? "strict" : found;
  }

  const Case& test_;
  const Contraction& c_;
  const Inputs& inputs_;
  Operands operands_;
  const RunOptions& options_;
  const CaptureFolder& folder_;
  std::set<std::string> found_;  // plans found for this case: libraries share kernels
  Limits limits_;
  double limit_ = -1;
};

void append(Record& record, const FinishedResult& r) {
  record.results.push_back(r.row);
  record.timings.push_back(r.timing);
}

Result without_run(const Case& test, const Job& job, const char* status, const std::string& why) {
  Result r = result_of(test, job);
  r.evidence.status = status;
  r.evidence.reason = why;
  r.judgement = judge(r.evidence);
  return r;
}

}  // namespace

CaptureFolder folder_of(const RunOptions& options, const nlohmann::json& environment) {
  const std::string settings = options.replay == ReplayChoice::none ? " no replay" : "";
  return {options.captures, environment, settings + (options.explain ? "" : " no explanations")};
}

void append_failed(const Case& test, const RunOptions& options, const CaptureFolder& folder,
                   const std::string& why, Record& record) {
  for (const Job& job : jobs_of(test, options, "")) {
    if (!job.skip.empty())
      append(record, finished(without_run(test, job, "skipped", job.skip)));
    else if (auto done = folder.finished(test, job.variant->name, job.mode))
      append(record, *done);
    else
      append(record, finished(without_run(test, job, "error", why)));
  }
}

CaseRunner::CaseRunner(const RunOptions& options) : options_(options) {
  std::string reason;
  if (options.device != DeviceChoice::cpu) cuda_ = make_executor(Where::cuda, no_cuda_);
  if (options.device == DeviceChoice::cuda && !cuda_) throw Error("--device cuda: " + no_cuda_);
  host_ = make_executor(Where::host, reason);
  nlohmann::json environment = describe_environment(options.argv);
  if (cuda_) note_device_arithmetic(environment);
  folder_.emplace(folder_of(options, environment));
}

void CaseRunner::run(const Case& test, Record& record) {
  std::vector<Job> on_host, on_device;
  for (const Job& job : jobs_of(test, options_, no_cuda_)) {
    if (!job.skip.empty()) {
      append(record, finished(without_run(test, job, "skipped", job.skip)));
    } else if (auto done = folder_->finished(test, job.variant->name, job.mode)) {
      append(record, *done);
    } else {
      (job.variant->where == Where::cuda ? on_device : on_host).push_back(job);
    }
  }
  if (on_host.empty() && on_device.empty()) return;
  std::vector<Result> results;
  try {
    if (options_.progress) options_.progress(test.name + ": making inputs");
    const Contraction c = lower(test.problem);
    const Inputs inputs = make_inputs(test, options_.threads);
    CaseRun run(test, c, inputs, options_, *folder_);
    if (!on_device.empty()) results = run.run(*cuda_, on_device);
    if (!on_host.empty())
      for (Result& r : run.run(*host_, on_host)) results.push_back(std::move(r));
  } catch (const Error& e) {  // of the case as a whole: inputs that do not fit memory, say
    for (const auto* jobs : {&on_device, &on_host})
      for (const Job& job : *jobs) {
        const bool known = std::any_of(results.begin(), results.end(), [&](const Result& r) {
          return r.variant == job.variant->name && r.mode == job.mode;
        });
        if (!known) results.push_back(without_run(test, job, "error", e.what()));
      }
  }
  for (const Result& r : results) append(record, finished(r));
}

}  // namespace ulpscope
