#include "harness/ladder/result_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/explain/side.hpp"
#include "harness/ladder/gather.hpp"
#include "harness/ladder/name_mistake.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostOutputs = 256, kMostTerms = 1 << 16, kRun = 16;

/// Four digits: these are shown, nothing is decided by them.
json rounded(double x) {
  if (!std::isfinite(x)) return json_number(x);
  return std::stod(fmt::format("{:.3e}", x));
}

std::string hex_of(const std::vector<std::uint32_t>& bits, DType out) {
  const int digits = 2 * size_of(out);
  std::string text;
  for (const std::uint32_t b : bits) text += fmt::format("{:0{}x}", b, digits);
  return text;
}

Rung rung_of(std::string name, RungStatus status, std::string note) {
  Rung r;
  r.name = std::move(name);
  r.status = status;
  r.note = std::move(note);
  return r;
}

Rung plain(const std::string& name, bool confirmed, const std::string& note) {
  return rung_of(name, confirmed ? RungStatus::confirmed : RungStatus::excluded, note);
}

// What two launches showed.
void before_rounding(const Result& r, std::vector<Rung>& rungs) {
  const Evidence& e = r.evidence;
  const bool written = e.unwritten == 0 && e.guards_intact;
  rungs.push_back(plain("not written, or written outside", !written,
                        written ? "every output was written, the guards beside it are intact"
                        : e.unwritten > 0
                            ? fmt::format("{} outputs were never written", e.unwritten)
                            : std::string("guard bytes beside the output changed: it wrote outside")));
  const std::int64_t kinds = e.measured ? e.measured->nonfinite_mismatch : 0;
  rungs.push_back(plain("NaN or infinity", kinds > 0,
                        kinds > 0
                            ? fmt::format("{} outputs are NaN or infinite where the exact result is not, "
                                          "or the reverse",
                                          kinds)
                            : std::string("none where the exact result has none")));
  rungs.push_back(plain("no determinism", e.differing > 0,
                        e.differing > 0 ? fmt::format("two runs differ in {} outputs", e.differing)
                                        : std::string("two runs, the same bits")));
}

// What a launch on ones showed: exact in every order and mode.
void sums_of_ones(const SumsOfOnes& ones, std::vector<Rung>& rungs) {
  if (ones.outputs == 0) return;
  rungs.push_back(plain(
      "terms lost or added twice", ones.wrong > 0,
      ones.wrong > 0
          ? fmt::format(
                "on operands of ones {} of {} do not give the number of their terms: output {} gives {:.9g} "
                "for {}",
                ones.wrong, counted(ones.outputs, "output"), ones.first_wrong, ones.seen, ones.terms)
          : fmt::format("on operands of ones each of {} gives the number of its terms",
                        counted(ones.outputs, "output"))));
}

// What all judged outputs showed.
void after_rounding(const Result& r, std::vector<Rung>& rungs) {
  const Evidence& e = r.evidence;
  if (e.replay && e.replay->compared > 0) {
    const bool all = e.replay->equal == e.replay->compared;
    Rung rung = plain(r.declared_plan.empty() ? "plan found by search" : "declared plan", all,
                      fmt::format("`{}` gives the same bits in {} of {} outputs replayed{}", e.replay->plan,
                                  e.replay->equal, e.replay->compared,
                                  all && !e.replay->admitted ? "; the mode does not admit it" : ""));
    rung.equal_share = static_cast<double>(e.replay->equal) / static_cast<double>(e.replay->compared);
    rungs.push_back(rung);
  } else {
    rungs.push_back(
        rung_of("plan", RungStatus::not_tested,
                r.declared_plan.empty() ? "none is declared, and none was found" : "not replayed"));
  }
  if (!e.measured || e.measured->outputs == 0) return;
  const Measurement& m = *e.measured;
  rungs.push_back(plain(
      "beyond its bound", m.beyond_bound > 0,
      m.beyond_bound > 0
          ? fmt::format("{} of {} outputs, the worst by a factor of {:.3g}", m.beyond_bound, m.outputs,
                        m.headroom)
          : fmt::format("no output of {}; the largest error is {:.3g} of its bound", m.outputs, m.headroom)));
}

/// The roundings of both operands, and of one alone where that is what fits.
std::vector<Rung> operand_rungs(const SideReport& side) {
  std::vector<Rung> kept;
  for (const Rung& r : side.rungs) {
    const bool both = r.name.starts_with("operands ");
    const bool one = r.name.starts_with("input alone ") || r.name.starts_with("weight alone ");
    const bool both_fit = !side.operands_fit.empty();
    if (both || (one && !both_fit && r.status == RungStatus::confirmed)) kept.push_back(r);
  }
  return kept;
}

json json_of(const std::vector<Rung>& rungs) {
  json list = json::array();
  for (const Rung& r : rungs) {
    json j{{"rung", r.name}, {"status", to_string(r.status)}, {"note", r.note}};
    if (r.measured) {
      j["max_residual"] = rounded(r.max_residual);
      j["mean_residual"] = rounded(r.mean_residual);
    }
    if (r.measured || r.equal_share > 0) j["equal_bits"] = r.equal_share;
    list.push_back(j);
  }
  return list;
}

SideReport side_of(const Result& result, const GatheredOutputs& few, const OutputSample& sample,
                   int threads) {
  const DType out = result.test.out;
  ExplainRequest request;
  request.problem = result.test.problem;
  request.contraction = few.c;
  request.operands = few.operands();
  request.quick = true;
  request.threads = threads;
  if (result.test.tolerance) request.tolerance = *result.test.tolerance;
  Dump dump{result.variant, make_tensor(out, {few.c.outputs()})};
  for (std::size_t i = 0; i < sample.bits.size(); ++i) {
    if (size_of(out) == 4)
      dump.output.as<std::uint32_t>()[i] = sample.bits[i];
    else
      dump.output.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(sample.bits[i]);
  }
  SideInput side;
  side.dump = &dump;
  side.operands = &request.operands;
  const auto& replay = result.evidence.replay;
  if (replay && replay->compared > 0 && replay->equal == replay->compared) side.hints = {replay->plan};
  side.nondeterministic = result.evidence.differing > 0;
  return explain_side(request, side, truth_of(few.c, request.operands, out, threads));
}

}  // namespace

std::vector<WindowRange> sample_ranges(const std::vector<WindowRange>& available, std::int64_t terms) {
  std::int64_t total = 0;
  for (const WindowRange& w : available) total += w.count;
  const std::int64_t wanted = std::min(kMostOutputs, kMostTerms / std::max<std::int64_t>(1, terms));
  if (total == 0 || wanted == 0) return {};
  if (total <= wanted) {
    std::vector<WindowRange> all = available;
    std::erase_if(all, [](const WindowRange& w) { return w.count == 0; });
    return all;
  }
  const std::int64_t length = std::min(kRun, wanted), runs = wanted / length;
  std::vector<WindowRange> ranges;
  for (std::int64_t i = 0; i < runs; ++i) {
    // In the stretches laid end to end; total >= runs * length, so runs never overlap.
    const auto from = runs == 1
                          ? std::int64_t{0}
                          : static_cast<std::int64_t>(static_cast<__int128>(total - length) * i / (runs - 1));
    std::int64_t before = 0;
    for (const WindowRange& w : available) {
      const std::int64_t begin = std::max(from, before), end = std::min(from + length, before + w.count);
      if (begin < end) ranges.push_back({w.begin + begin - before, end - begin});
      before += w.count;
    }
  }
  return ranges;
}

Tensor whole_output(Executor& executor, int output, const Contraction& c, DType out) {
  executor.start_copy(0, {output}, {0, 1, c.outputs(), c.outputs()});
  const void* bits = executor.finish_copy(0).at(0);
  Tensor copy = make_tensor(out, {c.outputs()});
  std::memcpy(copy.data.get(), bits, copy.view().bytes());
  return copy;
}

Tensor whole_output(const std::vector<Window>& windows, const Contraction& c, DType out) {
  Tensor all = make_tensor(out, {c.outputs()});
  for (const Window& w : windows)
    std::memcpy(static_cast<char*>(all.data.get()) + w.begin * size_of(out), w.bits.data.get(),
                w.bits.view().bytes());
  return all;
}

OutputSample sample_of(Executor& executor, int output, const Contraction& c, DType out) {
  OutputSample sample;
  if (size_of(out) > 4) return sample;
  sample.ranges = sample_ranges({{0, c.outputs()}}, c.terms());
  for (const WindowRange& r : sample.ranges) {
    executor.start_copy(0, {output}, {r.begin, 1, r.count, r.count});
    const TensorView copy{executor.finish_copy(0).at(0), out, {r.count}};
    for (std::int64_t i = 0; i < r.count; ++i)
      sample.bits.push_back(static_cast<std::uint32_t>(copy.bits_at(i)));
  }
  return sample;
}

OutputSample sample_of(const std::vector<Window>& windows, const Contraction& c) {
  OutputSample sample;
  std::vector<WindowRange> available;
  for (const Window& w : windows) available.push_back({w.begin, w.bits.size()});
  sample.ranges = sample_ranges(available, c.terms());
  for (const WindowRange& r : sample.ranges)
    for (const Window& w : windows)
      if (r.begin >= w.begin && r.begin < w.begin + w.bits.size())
        for (std::int64_t i = 0; i < r.count; ++i)
          sample.bits.push_back(static_cast<std::uint32_t>(w.bits.view().bits_at(r.begin - w.begin + i)));
  return sample;
}

json explain_result(const Result& result, const Contraction& c, const Operands& operands,
                    const OutputSample& sample, const Mistake* mistake, int threads) {
  if (sample.bits.empty() || !result.evidence.measured || size_of(result.test.in) > 4) return nullptr;
  try {
    std::vector<std::int64_t> outputs;
    json ranges = json::array();
    for (const WindowRange& r : sample.ranges) {
      ranges.push_back({r.begin, r.count});
      for (std::int64_t i = 0; i < r.count; ++i) outputs.push_back(r.begin + i);
    }
    const SideReport side = side_of(result, gather_outputs(c, operands, outputs), sample, threads);
    std::vector<Rung> rungs;
    before_rounding(result, rungs);
    sums_of_ones(result.evidence.ones, rungs);
    for (const Rung& r : operand_rungs(side)) rungs.push_back(r);
    after_rounding(result, rungs);
    if (mistake) {
      Rung rung = plain(mistake->reproduced ? "structural mistake" : "where the errors sit", true,
                        fmt::format("{}; {}; {}", mistake->what, mistake->region.words, mistake->evidence));
      rung.measured = mistake->reproduced;
      rung.max_residual = mistake->max_residual;
      rungs.push_back(rung);
    }
    std::string why;
    std::string cause = cause_of(side, nullptr, why);
    if (mistake && mistake->reproduced)
      cause = mistake->other_inputs ? "inputs_differ" : "structural", why = rungs.back().note;
    else if (result.evidence.ones.wrong > 0)
      cause = "structural", why = result.judgement.reason;
    else if (result.evidence.measured->equal_bits == result.evidence.measured->outputs)
      cause = "none", why = "every output is the correctly rounded exact result";
    else if (result.evidence.measured->nonfinite_mismatch > 0)
      cause = "nonfinite", why = rungs[1].note;
    else if (result.evidence.differing > 0)
      cause = "nondeterminism", why = rungs[2].note;
    json explanation{{"outputs", outputs.size()},
                     {"ranges", ranges},
                     {"bits", hex_of(sample.bits, result.test.out)},
                     {"operands", side.operands},
                     {"operands_input", side.operands_input},
                     {"operands_weight", side.operands_weight},
                     {"operands_fit", side.operands_fit},
                     {"input_fit", side.input_fit},
                     {"weight_fit", side.weight_fit},
                     {"parts", side.parts},
                     {"cause", cause},
                     {"cause_why", why},
                     {"ladder", json_of(rungs)}};
    if (mistake) explanation["mistake"] = mistake->name;
    return explanation;
  } catch (const Error&) {
    return nullptr;  // too large for memory, say: the result stands without it
  }
}

void explain_in_place(Result& result, const Contraction& c, const Operands& operands,
                      const OutputSample& sample, const std::function<Tensor()>& whole, bool keep,
                      int threads) {
  const auto mistake = name_mistake(result, c, operands, whole, threads);
  if (keep)
    result.explanation = explain_result(result, c, operands, sample, mistake ? &*mistake : nullptr, threads);
}

}  // namespace ulpscope
