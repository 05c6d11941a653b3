#include "harness/judge_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "harness/bound.hpp"
#include "harness/drift_json.hpp"
#include "harness/environment.hpp"
#include "harness/found_plan.hpp"
#include "harness/ladder/result_ladder.hpp"
#include "harness/probe/device_check.hpp"
#include "harness/run_probe.hpp"
#include "harness/run_slabs.hpp"
#include "harness/transform_bound.hpp"
#include "reference/error.hpp"
#include "reference/exact.hpp"
#include "reference/parallel.hpp"
#include "reference/plan.hpp"
#include "reference/search/search.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kStep = std::int64_t{1} << 21;  // outputs looked at together

std::string declared_plan_of(const Capture& capture) {
  if (!capture.declared_plan.empty()) return capture.declared_plan;
  for (const Variant* v : variants_of(capture.test.problem.params.op))
    if (v->name == capture.variant)
      return declared_plan(*v, capture.test.problem, capture.mode, capture.test.out);
  return "";
}

std::string source_of(const Capture& capture) {
  for (const Variant* v : variants_of(capture.test.problem.params.op))
    if (v->name == capture.variant) return v->source;
  return "";
}

std::int64_t count_equal(const TensorView& bits, std::int64_t from,
                         const std::vector<std::uint32_t>& predicted, std::int64_t n) {
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < n; ++i)
    equal += bits.bits_at(from + i) == predicted[static_cast<std::size_t>(i)];
  return equal;
}

/// Measures the windows, and replays `plan` (may be null) on them.
void measure_windows(const Capture& capture, const Contraction& c, const Operands& operands,
                     const std::shared_ptr<const Plan>& plan, int threads, Result& result) {
  const DType out = capture.test.out;
  std::string why;
  const bool usable =
      plan && admits(capture.mode, capture.test.in, *plan, why) && output_format(*plan) == out;
  const Transform transform = transform_of(capture.notes);
  const OutputBound bound = usable ? bound_of_plan(*plan, c, operands, threads)
                            : transform != Transform::none
                                ? bound_of_transform(transform, capture.test.problem, capture.mode,
                                                     capture.test.in, out, operands, threads)
                                : bound_of_mode(capture.mode, capture.test.in, out, c, operands, threads);
  result.evidence.bound_formula = bound.formula;
  MeasurerPool pool(Measurer(std::make_shared<const StrataMap>(c),
                             {out, bound, capture.test.tolerance, magnitude_limit(c, operands, threads)}));
  ReplayOutcome replayed;
  if (plan) replayed.plan = to_string(*plan);
  std::vector<double> value(kStep), magnitude(kStep);
  std::vector<std::uint32_t> rounded(kStep), predicted(kStep);
  for (const Window& w : capture.windows)
    for (std::int64_t from = 0; from < w.bits.size(); from += kStep) {
      const std::int64_t n = std::min(kStep, w.bits.size() - from), begin = w.begin + from;
      exact(c, operands, {out, threads}, begin, n, {value.data(), magnitude.data(), rounded.data()});
      divide_magnitudes(c, magnitude.data(), n);
      constexpr std::int64_t kPiece = 1 << 16;
      parallel_for((n + kPiece - 1) / kPiece, threads, [&](std::int64_t i) {
        const std::int64_t at = i * kPiece;
        pool.add(begin + at, std::min(kPiece, n - at),
                 static_cast<const char*>(w.bits.data.get()) + (from + at) * size_of(out), value.data() + at,
                 magnitude.data() + at, rounded.data() + at);
      });
      if (!plan || !predicts_bits(*plan, out)) continue;
      replay(*plan, c, operands, begin, n, predicted.data(), threads);
      replayed.compared += n;
      replayed.equal += count_equal(w.bits.view(), from, predicted, n);
    }
  result.evidence.measured = pool.result(c.out_shape);
  if (replayed.compared > 0) {
    replayed.found = result.declared_plan.empty();
    replayed.admitted = admits(capture.mode, capture.test.in, *plan, replayed.not_admitted);
    result.evidence.replay = replayed;
  }
}

/// Whether the plan gives the whole output, of which the capture keeps only a hash; nullopt if that is not
/// cheap.
std::optional<bool> replays_whole(const Capture& capture, const Plan& plan, const Contraction& c,
                                  const Operands& operands, int threads) {
  constexpr double kMostProducts = 4e9;
  const std::int64_t n = c.outputs();
  if (capture.output_hash.empty() ||
      static_cast<double>(n) * static_cast<double>(c.terms()) > kMostProducts ||
      !predicts_bits(plan, capture.test.out))
    return {};
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(n));
  replay(plan, c, operands, 0, n, bits.data(), threads);
  if (size_of(capture.test.out) == 4)
    return hash_bytes(bits.data(), bits.size() * 4, threads) == capture.output_hash;
  std::vector<std::uint16_t> narrow(bits.begin(), bits.end());
  return hash_bytes(narrow.data(), narrow.size() * 2, threads) == capture.output_hash;
}

/// The plan of an implementation that declares none, from what the windows show and the hash of the whole.
std::string plan_in_windows(const Capture& capture, const Contraction& c, const Operands& operands,
                            int threads) {
  constexpr std::int64_t kLooked = 4096;  // outputs of each window; the replay afterwards covers all of them
  if (capture.runs_differing > 0) return "";
  Observation seen;
  seen.dtype = capture.test.out;
  for (const Window& w : capture.windows)
    observe_more(seen, {w.bits.data.get(), w.bits.dtype, {std::min(w.bits.size(), kLooked)}}, w.begin);
  // What the windows cannot tell apart (a few thousand 16-bit outputs fit hundreds of plans) the hash can.
  FindOptions options;
  options.mode = capture.mode;
  options.engine = capture.notes.engine;
  options.threads = threads;
  options.confirm = [&](const Plan& plan) {
    return replays_whole(capture, plan, c, operands, 1).value_or(true);
  };
  return found_plan(c, operands, capture.test.in, seen, options);
}

/// The case's text without what makes inputs: a dump brings its own operands.
std::string without_fills(const std::string& text) {
  std::istringstream words(text);
  std::string kept;
  for (std::string word; words >> word;) {
    const bool made = word.starts_with("a=") || word.starts_with("b=") || word.starts_with("bias=") ||
                      word.starts_with("seed=");
    if (!made) kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

const Inputs& inputs_of(const Capture& capture, InputsCache& cache, int threads) {
  const std::string text = to_string(capture.test);
  if (capture.a.data) {
    cache = {"", inputs_from(capture.a, capture.b, capture.bias, threads)};
  } else if (cache.case_text != text) {
    cache = {};
    cache.inputs = make_inputs(capture.test, threads);
    cache.case_text = text;
  }
  if (cache.inputs.hash != capture.input_hash)
    throw Error("the inputs here are not those the capture was made with (hash " + cache.inputs.hash +
                ", recorded " + capture.input_hash + "): it comes from another version, or was altered");
  return cache.inputs;
}

}  // namespace

Result judge_capture(const Capture& capture, InputsCache& cache, ReplayChoice replay_choice, int threads,
                     bool explain) {
  Result r;
  r.test = capture.test;
  r.variant = capture.variant;
  r.source = source_of(capture);
  r.mode = capture.mode;
  r.executed = capture.status == "ok" ? "recorded" : "";
  r.input_hash = capture.input_hash;
  r.output_hash = capture.output_hash;
  r.notes = capture.notes;
  r.device_ms = capture.device_ms;
  r.reproduce =
      fmt::format("ulpscope run '{}' --variant {} --mode {}{}", to_string(capture.test), capture.variant,
                  to_string(capture.mode), capture.executed == "device" ? " --device cuda" : "");
  Evidence& e = r.evidence;
  e.mode = capture.mode;
  e.status = capture.status;
  e.reason = capture.reason;
  e.declared_nondeterministic = capture.declared_nondeterministic;
  e.differing = capture.runs_differing;
  e.unwritten = capture.unwritten;
  e.first_differing = capture.first_differing;
  e.first_unwritten = capture.first_unwritten;
  e.guards_intact = capture.guards_intact;
  e.effective_mode = capture.effective_mode;
  e.ones = capture.ones;
  try {
    const Contraction c = lower(capture.test.problem);
    e.outputs = c.outputs();
    if (capture.status == "ok") {
      r.declared_plan = declared_plan_of(capture);
      std::shared_ptr<const Plan> plan;
      const Operands operands = inputs_of(capture, cache, threads).operands();
      std::string text = r.declared_plan;
      const bool plain_sum = transform_of(capture.notes) == Transform::none;
      if (text.empty() && plain_sum && replay_choice != ReplayChoice::none)
        text = plan_in_windows(capture, c, operands, threads);
      if (!text.empty()) plan = parse_plan(text);
      if (plan || plain_sum)
        r.expected_max = expected_max(
            plan ? *plan : *parse_plan(usual_plan(capture.mode, capture.test.in, capture.test.out)), c,
            operands, threads);
      measure_windows(capture, c, operands, replay_choice == ReplayChoice::none ? nullptr : plan, threads, r);
      if (e.replay && e.replay->equal == e.replay->compared)
        r.whole_output_replayed = replays_whole(capture, *plan, c, operands, threads);
      if (r.whole_output_replayed && !*r.whole_output_replayed)
        --e.replay->equal;  // some output outside the windows
      // Where the device was probed, that stands: on integers, say, fp32's own plan fits what TF32 gave.
      const bool probed = !e.effective_mode.empty() && e.effective_mode != "unknown";
      if (!probed && e.replay && e.replay->equal == e.replay->compared && capture.test.in == DType::f32) {
        e.effective_mode = effective_mode_of(*plan);
        if (e.effective_mode == "fp32" && r.mode == Mode::strict && e.differing == 0)
          e.effective_mode = "strict";
      }
    }
  } catch (const Error& error) {
    e.status = "error";
    e.reason = error.what();
    e.measured.reset();
  }
  r.judgement = judge_on_device(e, disagreement_in(capture.environment));
  if (e.measured) {
    const Contraction c = lower(capture.test.problem);
    explain_in_place(
        r, c, cache.inputs.operands(), sample_of(capture.windows, c),
        [&] { return whole_output(capture.windows, c, capture.test.out); }, explain, threads);
  }
  return r;
}

std::vector<std::string> capture_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> inside = capture_files(path);
    if (inside.empty())
      throw Error("'" + path + "' holds no captures (*.npz): they come from 'ulpscope run --captures'");
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Record judge_captures(const std::vector<std::string>& paths, ReplayChoice replay, int threads,
                      const std::vector<std::string>& argv,
                      const std::function<void(const std::string&)>& progress, bool explain) {
  const std::vector<std::string> files = capture_paths(paths);
  Record record;
  record.environment = describe_environment(argv);
  InputsCache cache;
  for (const std::string& file : files) {
    const Capture capture = read_capture(file);
    if (progress) progress("judging " + file);
    const Result r = judge_capture(capture, cache, replay, threads, explain);
    nlohmann::json row = to_json(r);
    if (explain && r.evidence.measured && !has_case(record, r.test.name, r.input_hash))
      record.cases.push_back(
          {{"case", r.test.name},
           {"input_hash", r.input_hash},
           {"drift", capture.a.data ? drift_of_operands(r.test, cache.inputs.operands(), threads)
                                    : drift_of_case(r.test, threads)}});
    if (capture.a.data) {  // no run makes a dump's operands again
      row["case_text"] = without_fills(row["case_text"].get<std::string>());
      row["reproduce"] = fmt::format("ulpscope judge '{}'", file);
    }
    row["captured_on"] =
        capture.environment.is_object() ? capture.environment.value("device", nlohmann::json()) : nullptr;
    record.results.push_back(row);
    record.timings.push_back({{"case", r.test.name},
                              {"variant", r.variant},
                              {"mode", to_string(r.mode)},
                              {"device_ms", r.device_ms}});
  }
  sort_record(record);
  return record;
}

}  // namespace ulpscope
