#include "harness/ladder/name_mistake.hpp"

#include <fmt/format.h>

#include "harness/explain/side.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMost = 1 << 22;  // products, and elements of the operands: a second or so

bool worth_a_look(const Result& r, const Contraction& c) {
  const Evidence& e = r.evidence;
  const bool replayed = e.replay && e.replay->compared > 0 && e.replay->equal == e.replay->compared;
  const bool wrong = r.judgement.verdict == Verdict::violated || e.ones.wrong > 0;
  return wrong && e.measured && e.measured->beyond_bound > 0 && e.measured->outputs == c.outputs() &&
         e.differing == 0 && e.unwritten == 0 && e.guards_intact && !replayed && size_of(r.test.out) <= 4 &&
         c.outputs() <= kMost / std::max<std::int64_t>(1, c.terms()) && c.a_size <= kMost &&
         c.b_size <= kMost;
}

}  // namespace

std::optional<Mistake> name_mistake(Result& result, const Contraction& c, const Operands& operands,
                                    const std::function<Tensor()>& whole, int threads) {
  if (!worth_a_look(result, c)) return {};
  try {
    ExplainRequest request;
    request.problem = result.test.problem;
    request.contraction = c;
    request.operands = operands;
    request.threads = threads;
    request.seconds = 0;  // no search among libraries' plans: a matter of luck and time
    if (result.test.tolerance) request.tolerance = *result.test.tolerance;
    const Dump dump{result.variant, whole()};
    SideInput side;
    side.dump = &dump;
    side.operands = &request.operands;
    SideReport report = explain_side(request, side, truth_of(c, operands, result.test.out, threads));
    // Weights are known here, and solving for others fits few outputs too easily (an honest Winograd's, say).
    if (report.mistake && report.mistake->fitted) return {};
    if (!report.mistake || !report.mistake->reproduced) return std::move(report.mistake);
    result.judgement.verdict = Verdict::structural;
    result.judgement.reason = fmt::format("{} ({}); {}", report.mistake->what, report.mistake->region.words,
                                          result.judgement.reason);
    return std::move(report.mistake);
  } catch (const Error&) {
    return {};  // it stays violated
  }
}

}  // namespace ulpscope
