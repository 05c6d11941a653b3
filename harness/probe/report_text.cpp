#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/probe/report.hpp"
#include "reference/counted.hpp"

namespace ulpscope {
namespace {

const char* kept(bool yes) {
  return yes ? "kept" : "flushed";
}

std::string instructions(const ProbeReport& report) {
  std::string out = "tensor-core instructions: " + report.device + "\n";
  out += fmt::format("  {:<23}  {:>3}  {:>3}  {:<8}  {:>4}  {:>5}  {:<23}  {:<15}  {}\n", "operands", "L",
                     "F", "rounding", "keep", "floor", "subnormals (in,out,acc)", "random rows", "table");
  for (const StepFindings& s : report.steps) {
    if (!s.error.empty()) {
      out += fmt::format("  {:<23}  error: {}\n", to_string(s.kind), s.error);
      continue;
    }
    const std::string subnormals = fmt::format("{},{},{}", kept(s.subnormal_operands),
                                               kept(s.subnormal_results), kept(s.subnormal_accumulators));
    out += fmt::format("  {:<23}  {:>3}  {:>3}  {:<8}  {:>4}  {:>5}  {:<23}  {:<15}  {}\n", to_string(s.kind),
                       s.step.terms, s.step.frac, s.rounding, s.step.keep, s.step.floor, subnormals,
                       fmt::format("{}/{}", s.equal, s.tested),
                       !s.agrees   ? "no row"
                       : *s.agrees ? "agrees (" + s.architecture + ")"
                                   : "DISAGREES: " + s.difference);
  }
  if (report.agrees && !*report.agrees)
    out += "  this device is not what the table says: nothing on it may be called explained\n";
  return out + "\n";
}

std::string list_of(const std::vector<OperandFormat>& formats) {
  std::string text;
  for (const OperandFormat f : formats) text += (text.empty() ? "" : "/") + std::string(info(f).name);
  return text.empty() ? "unknown" : text;
}

const char* word(Seen s, const char* yes, const char* no, const char* unknown) {
  return s == Seen::yes ? yes : s == Seen::no ? no : unknown;
}

std::string numbers_of(const ProbedArithmetic& a) {
  const std::string x = list_of(a.a), y = list_of(a.b);
  std::string text = "operands " + (x == y ? x : x + " and " + y) + ", ";
  if (a.block)
    text += fmt::format("steps of L = {} with F = {}, {}", a.terms, a.frac,
                        word(a.truncates, "truncated", "to nearest", "rounding not seen"));
  else
    text += fmt::format("{}, {}", word(a.fma, "fma", "product and sum rounded", "fma not seen"),
                        word(a.compensated, "compensated", "to nearest", "order of rounding not seen"));
  text += fmt::format(", accumulator {}", name_of(a.accumulator));
  if (a.subnormal_operands != Seen::unknown || a.subnormal_results != Seen::unknown)
    text += fmt::format(", subnormal operands {}, results {}",
                        word(a.subnormal_operands, "kept", "flushed", "not seen"),
                        word(a.subnormal_results, "kept", "flushed", "not seen"));
  return text;
}

// A tree that was read has as many words as terms; the report has it whole.
std::string shortened(const std::string& plan) {
  constexpr std::size_t kMost = 160;
  if (plan.empty()) return "no plan";
  return plan.size() <= kMost ? plan
                              : plan.substr(0, kMost) + fmt::format("... ({} characters)", plan.size());
}

std::string status_of(const ProbedVariant& p) {
  if (p.status != "ok") return p.status;
  if (p.differing > 0) return "differs from run to run";
  if (!p.found()) return "not found";
  return p.unique() ? "found, unique" : "found, not unique";
}

std::string target(const ProbedVariant& p, bool compare_declared, std::size_t widest) {
  std::string out = fmt::format("  {:<{}}  {:<6}  {}", p.variant, widest, to_string(p.mode), status_of(p));
  if (p.status != "ok") return out + ": " + p.reason + "\n";
  if (p.differing > 0)
    return out +
           fmt::format(": {} between two launches\n", counted(p.differing, "output", "differs", "differ"));
  const ProbeResult& r = p.result;
  if (compare_declared)
    out += p.declared.empty() ? "; none declared"
           : !p.as_declared() ? "; declared without an order"
           : *p.as_declared() ? "; equal to the declared tree"
                              : "; DIFFERENT from the declared one: " + p.difference;
  out += fmt::format("\n      {}{}\n", p.found() ? "" : "closest: ", shortened(r.plan));
  if (!r.arithmetic.a.empty() || r.masks > 0) out += "      " + numbers_of(r.arithmetic) + "\n";
  out += fmt::format("      {} launches, masks {}/{} over {} of {}, random outputs {}/{}", p.launches,
                     r.masks_agreeing, r.masks, r.terms_covered, counted(r.terms, "term"), r.outputs_agreeing,
                     r.outputs);
  if (p.declared_tested > 0)
    out += fmt::format(", declared plan {}/{}{}", p.declared_equal, p.declared_tested,
                       p.hinted ? " (tried as a hint)" : "");
  if (p.agrees_with_table)
    out += *p.agrees_with_table ? ", L and F as in the table" : ", L or F NOT as in the table";
  out += "\n";
  if (!p.notes.engine.empty()) out += "      ran: " + p.notes.engine + "\n";
  if (!p.found())
    for (const std::string& note : r.notes) out += "      " + note + "\n";
  return out;
}

}  // namespace

std::string render_probe(const ProbeReport& report) {
  std::string out;
  if (!report.steps.empty()) out += instructions(report);
  std::size_t widest = 7;
  for (const ProbedVariant& p : report.targets) widest = std::max(widest, p.variant.size());
  std::string current;
  std::map<std::string, int> tally;
  std::int64_t equal = 0, compared = 0;
  for (const ProbedVariant& p : report.targets) {
    ++tally[p.status == "ok" && !p.found() && p.differing == 0 ? "not found" : status_of(p)];
    if (p.as_declared()) {
      ++compared;
      equal += *p.as_declared();
    }
    const std::string name =
        to_string(p.test.problem) + fmt::format(" in={} out={}", name_of(p.test.in), name_of(p.test.out));
    if (p.status == "skipped" && report.targets.size() > 40) continue;  // counted below
    if (name != current) out += (current.empty() ? "" : "\n") + name + "\n";
    current = name;
    out += target(p, report.compare_declared, widest);
  }
  std::string sum;
  for (auto& [what, n] : tally) sum += fmt::format("{}{} {}", sum.empty() ? "" : "; ", n, what);
  if (!report.targets.empty()) out += fmt::format("\n{} targets: {}\n", report.targets.size(), sum);
  if (compared > 0)
    out += fmt::format("probed tree and arithmetic equal to the declared plan: {} of {}\n", equal, compared);
  return out;
}

int exit_code_of(const ProbeReport& report) {
  bool failed = false, different = report.agrees && !*report.agrees, any = false;
  for (const StepFindings& s : report.steps) any |= s.error.empty();
  for (const ProbedVariant& p : report.targets) {
    failed |= p.status == "error";
    any |= p.status == "ok";
    different |= report.compare_declared && p.as_declared() && !*p.as_declared();
  }
  return failed ? 2 : different ? 1 : any ? 0 : 3;
}

}  // namespace ulpscope
