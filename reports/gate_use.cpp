// Budgets as such: unused ones, too much room, and limits that would let a lost term through.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/vacuity.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reports/gate_checks.hpp"

namespace ulpscope {
namespace {

using Level = Finding::Level;
constexpr double kRoom = 2;  // above this factor between limit and need, a warning

Finding finding_on(const Budget& b, std::string what, std::string message) {
  return {Level::warning, std::move(what), b.case_pattern, b.variant_pattern,
          b.mode_pattern, b.file,          b.line,         std::move(message)};
}

std::int64_t terms_of(const ResultView& r) {
  std::int64_t terms = r.error && r.error->worst ? r.error->worst->terms : 0;
  if (r.error)
    for (const ErrorView::Terms& t : r.error->by_terms) terms = std::max(terms, t.terms);
  return terms;
}

/// What of a case's data a tolerance lets through; each case and tolerance tried once.
class LostTerms {
 public:
  /// "" if the tolerance would see a lost term, or if the record does not hold the case.
  std::string why_vacuous(const std::string& case_text, const Tolerance& tolerance) {
    const auto [at, fresh] =
        known_.try_emplace(fmt::format("{} {:a} {:a}", case_text, tolerance.atol, tolerance.rtol));
    if (!fresh || case_text.empty() || spent_ >= kMostTerms) return at->second;
    try {
      const Case test = parse_case(case_text);
      constexpr std::int64_t kTerms = std::int64_t{1} << 13;
      const Contraction c = lower(test.problem);
      spent_ += std::max(kTerms, 64 * c.terms());
      const Vacuity v = try_tolerance(c, model_data(test), tolerance, {kTerms});
      if (v.vacuous) at->second = v.why;
    } catch (const Error&) {  // a case of another version: nothing is known of it
    }
    return at->second;
  }

 private:
  static constexpr std::int64_t kMostTerms = std::int64_t{1} << 22;  // in all: a fraction of a second
  std::int64_t spent_ = 0;
  std::map<std::string, std::string> known_;
};

/// Results that a budget decides and that something is to be said of: how many, and the first of them.
struct Some {
  std::int64_t results = 0;
  std::string first;
  void add(const std::string& what) {
    if (results++ == 0) first = what;
  }
};

/// How far the declared plan fails a result that passes within its bound; "" if it does not, or if its budget
/// asks for the plan's bits anyway. A NaN's bits are no arithmetic.
std::string why_refuted(const ResultView& r, const Budget& b) {
  if (r.declared_plan.empty() || r.verdict != Verdict::bounded || r.bit_identical.value_or(1) >= 1 ||
      b.bits_of_plan || !r.error || r.error->nonfinite > 0)
    return "";
  return fmt::format("`{}` gives {:.0f} of {}", r.declared_plan,
                     *r.bit_identical * static_cast<double>(r.replayed_outputs),
                     counted(r.replayed_outputs, "output"));
}

/// Why this result's budget would not see a lost term; "" if it would.
std::string why_loose(const ResultView& r, const Budget& b, LostTerms& lost) {
  const std::int64_t terms = terms_of(r);
  std::string unseen;
  bool sees = false;  // one limit that would see it is enough
  for (const Limit& limit : b.limits) {
    if (limit.base != Limit::Base::number) {
      sees = true;  // derived ones follow the data
    } else if (limit.figure == Figure::max_scaled && terms > 0) {
      // A term is on average S/terms, which is 2^24/terms on the scale of max_scaled.
      const double term = 0x1p24 / static_cast<double>(terms);
      if (limit.factor < term)
        sees = true;
      else
        unseen = fmt::format("max_scaled {:.4g}: losing one of {} terms costs about {:.4g}", limit.factor,
                             terms, term);
    } else if (limit.figure == Figure::max_abs) {
      const std::string why = lost.why_vacuous(r.case_text, {limit.factor, 0});
      if (why.empty())
        sees = true;
      else
        unseen = fmt::format("max_abs {:.4g}: {}", limit.factor, why);
    }
  }
  if (b.violations && !sees) {
    const std::string why = lost.why_vacuous(r.case_text, {b.violations->atol, b.violations->rtol});
    if (!why.empty() && unseen.empty())
      unseen = fmt::format("atol {:g}, rtol {:g}: {}", b.violations->atol, b.violations->rtol, why);
    sees = why.empty();
  }
  return sees ? "" : unseen;
}

void check_room(const Budget& b, const BudgetUse& use, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < use.needs.size(); ++i) {
    const BudgetUse::Need& need = use.needs[i];
    if (need.results == 0 || !(need.limit > kRoom * need.worst)) continue;
    findings.push_back(finding_on(
        b, "headroom",
        need.worst == 0
            ? fmt::format("{} = {:.4g}, though none of {} is above 0", to_string(b.limits[i].figure),
                          need.limit, counted(need.results, "result"))
            : fmt::format("{} = {:.4g} leaves a factor of {:.3g}: the largest of {} is {:.4g}",
                          to_string(b.limits[i].figure), need.limit, need.limit / need.worst,
                          counted(need.results, "result"), need.worst)));
  }
}

}  // namespace

void check_use(const RecordView& record, const std::vector<Budget>& budgets, const std::vector<int>& deciding,
               const std::vector<BudgetUse>& uses, std::vector<Finding>& findings) {
  LostTerms lost;
  std::vector<Some> loose(budgets.size()), refuted(budgets.size());
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    if (deciding[i] < 0 || !was_judged(r)) continue;
    const auto at = static_cast<std::size_t>(deciding[i]);
    if (const std::string why = why_loose(r, budgets[at], lost); !why.empty())
      loose[at].add(r.key() + ", " + why);
    if (const std::string why = why_refuted(r, budgets[at]); !why.empty())
      refuted[at].add(r.key() + ", " + why);
  }
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const Budget& b = budgets[i];
    if (uses[i].matched == 0)
      findings.push_back(finding_on(b, "unused_budget", "this budget matches no result of the record"));
    else if (uses[i].decided == 0)
      findings.push_back(finding_on(
          b, "unused_budget",
          "later budgets decide all that this one matches: " + counted(uses[i].matched, "result")));
    if (loose[i].results > 0)
      findings.push_back(
          finding_on(b, "loose_budget",
                     fmt::format("looser than what a lost term would cause, in {} of {}: {}",
                                 loose[i].results, counted(uses[i].decided, "result"), loose[i].first)));
    if (refuted[i].results > 0)
      findings.push_back(
          finding_on(b, "refuted_plan",
                     fmt::format("{} of {} keep their bound, but not the plan that the variant declares "
                                 "(bits = [\"plan\"] makes "
                                 "it a failure): {}",
                                 refuted[i].results, counted(uses[i].decided, "result"), refuted[i].first)));
    check_room(b, uses[i], findings);
  }
}

}  // namespace ulpscope
