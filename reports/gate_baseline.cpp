// A record against an accepted one.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "reports/gate_checks.hpp"

namespace ulpscope {
namespace {

using Level = Finding::Level;

/// Strict promises the same bits run after run, so also from one record to the next on the same machinery.
bool same_machinery(const Difference& changes) {
  for (const Change& c : changes.environment)
    if (c.what != "commit" && c.what != "version") return false;
  return true;
}

void check_changed_bits(const ResultView& was, const ResultView& r, const Budget* budget,
                        const ResultChange* change, bool same, std::vector<Finding>& findings) {
  const bool promised = budget && budget->bits_of_baseline;
  if (promised && (was.output_hash.empty() || r.output_hash.empty())) {
    findings.push_back(finding_at(r, Level::failure, "bits",
                                  "the baseline's bits are promised, but a record lacks the output hash"));
    return;
  }
  if (!change || !change->bits) return;
  if (promised)
    findings.push_back(finding_at(r, Level::failure, "bits",
                                  fmt::format("bits changed, and {}:{} promises the baseline's: {}",
                                              budget->file, budget->line, change->explanation)));
  else if (r.mode == "strict" && same)
    findings.push_back(
        finding_at(r, Level::failure, "bits",
                   "bits changed in mode strict on the same device and libraries: " + change->explanation));
  else
    findings.push_back(finding_at(r, Level::note, "bits_changed", "bits changed: " + change->explanation));
}

/// The figure errors are compared by: scaled, unless only the absolute one is finite on both sides.
std::optional<Figure> comparable(const ResultView& was, const ResultView& r) {
  for (const Figure figure : {Figure::max_scaled, Figure::max_abs}) {
    const auto a = figure_of(figure, was), b = figure_of(figure, r);
    if (a && b) return figure;
  }
  return {};
}

bool limits(const Budget& budget, Figure figure) {
  for (const Limit& limit : budget.limits)
    if (limit.figure == figure || limit.base == Limit::Base::bound) return true;
  return false;
}

/// The mean is no limit of a budget, but a bias shows in it before it does in the maximum.
void check_mean(const ResultView& was, const ResultView& r, std::vector<Finding>& findings) {
  constexpr double kNoise = 1.25;  // other orders of one sum move a mean error by a few percent
  if (!was.error || !r.error || !was.error->mean_abs || !r.error->mean_abs) return;
  if (*r.error->mean_abs <= kNoise * *was.error->mean_abs) return;
  findings.push_back(finding_at(
      r, Level::warning, "worse_mean",
      fmt::format("mean_abs went from {:.4g} to {:.4g}", *was.error->mean_abs, *r.error->mean_abs)));
}

void check_error(const ResultView& was, const ResultView& r, const Budget* budget,
                 std::vector<Finding>& findings) {
  const auto figure = comparable(was, r);
  if (!figure) return;
  const double before = *figure_of(*figure, was), now = *figure_of(*figure, r);
  const std::string said = fmt::format("{} went from {:.4g} to {:.4g}", to_string(*figure), before, now);
  if (now < before) {
    findings.push_back(finding_at(r, Level::note, "better", said));
    return;
  }
  if (now <= before) return;  // NaN is worse
  const bool explained = (r.verdict == Verdict::explained || r.verdict == Verdict::identical) &&
                         !was.plan.empty() && arithmetic_of(was.plan) == arithmetic_of(r.plan);
  if (budget && limits(*budget, *figure))
    findings.push_back(finding_at(r, Level::note, "worse_allowed",
                                  said + fmt::format(": {}:{} decides", budget->file, budget->line)));
  else if (explained)
    findings.push_back(
        finding_at(r, Level::note, "worse_allowed",
                   said + fmt::format(": explained, the arithmetic is still '{}'", arithmetic_of(r.plan))));
  else if (r.verdict == Verdict::nondeterministic)
    findings.push_back(finding_at(r, Level::note, "worse_allowed", said + ": it varies from run to run"));
  else
    findings.push_back(finding_at(r, Level::failure, "worse",
                                  said + ": no budget limits it (set one, or accept a new baseline)"));
}

}  // namespace

void check_baseline(const RecordView& record, const std::vector<const Budget*>& deciding,
                    const RecordView& baseline, const Difference& changes, std::vector<Finding>& findings) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::size_t> now;
  for (std::size_t i = 0; i < record.results.size(); ++i) {
    const ResultView& r = record.results[i];
    now[{r.test, r.variant, r.mode}] = i;
  }
  std::map<Key, const ResultChange*> changed;
  for (const ResultChange& c : changes.results) changed[{c.test, c.variant, c.mode}] = &c;
  const bool same = same_machinery(changes);
  for (const Change& c : changes.environment)
    findings.push_back({Level::note, "environment", "", "", "", "", 1,
                        fmt::format("{}: {} -> {}", c.what, c.before.empty() ? "none" : c.before,
                                    c.after.empty() ? "none" : c.after)});
  for (const ResultView& was : baseline.results) {
    const Key key{was.test, was.variant, was.mode};
    const auto found = now.find(key);
    const bool held = was_judged(was) && (passes(was.verdict) || was.excused);
    if (found == now.end()) {
      if (was_judged(was))
        findings.push_back(finding_at(
            was, Level::failure, "missing",
            fmt::format("the baseline has this result ({}), the record lacks it", to_string(was.verdict))));
      continue;
    }
    const ResultView& r = record.results[found->second];
    if (!was_judged(r)) {
      if (held && r.verdict != Verdict::error)
        findings.push_back(finding_at(r, Level::unverified, "not_run",
                                      fmt::format("{} in the baseline, {} here: {}", to_string(was.verdict),
                                                  to_string(r.verdict), r.reason)));
      continue;
    }
    if (!was_judged(was)) continue;
    if (was.input_hash != r.input_hash && !was.input_hash.empty() && !r.input_hash.empty()) {
      findings.push_back(
          finding_at(r, Level::warning, "inputs_changed",
                     "the inputs are not the baseline's: its error and bits say nothing here"));
      continue;
    }
    const auto change = changed.find(key);
    check_changed_bits(was, r, deciding[found->second], change == changed.end() ? nullptr : change->second,
                       same, findings);
    check_error(was, r, deciding[found->second], findings);
    check_mean(was, r, findings);
    if (was.verdict == Verdict::explained && r.verdict == Verdict::bounded)
      findings.push_back(
          finding_at(r, Level::warning, "no_longer_explained",
                     fmt::format("the baseline was explained by '{}', this is only bounded", was.plan)));
  }
  for (const ResultChange& c : changes.results)
    if (c.kind == ResultChange::Kind::added)
      findings.push_back({Level::note, "new", c.test, c.variant, c.mode, "", 1, "not in the baseline"});
}

}  // namespace ulpscope
