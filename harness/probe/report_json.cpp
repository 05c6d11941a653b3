#include "harness/probe/report.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}
json or_null(const std::optional<bool>& b) {
  return b ? json(*b) : json();
}
json seen(Seen s) {
  return s == Seen::unknown ? json() : json(s == Seen::yes);
}
json names(const std::vector<OperandFormat>& formats) {
  json list = json::array();
  for (const OperandFormat f : formats) list.push_back(info(f).name);
  return list;
}

json instruction(const StepFindings& s) {
  json j{{"kind", to_string(s.kind)}, {"k", mma_k(s.kind)}, {"error", or_null(s.error)}};
  if (!s.error.empty()) return j;
  j["L"] = s.step.terms;
  j["F"] = s.step.frac;
  j["rounding"] = s.rounding;
  j["alignment"] = s.alignment;
  j["keep"] = s.step.keep;
  j["floor"] = s.step.floor;
  j["accumulator"] = name_of(s.step.accumulator);
  j["chained"] = s.chained;
  j["subnormals_kept"] = {{"operands", s.subnormal_operands},
                          {"results", s.subnormal_results},
                          {"accumulators", s.subnormal_accumulators}};
  j["nan_bits"] = s.nan;
  j["launches"] = s.launches;
  j["tested"] = s.tested;
  j["equal"] = s.equal;
  j["architecture"] = or_null(s.architecture);
  j["agrees_with_table"] = or_null(s.agrees);
  j["difference"] = or_null(s.difference);
  return j;
}

json arithmetic(const ProbedArithmetic& a) {
  json j{{"operands", {{"a", names(a.a)}, {"b", names(a.b)}}},
         {"fused_steps", a.block},
         {"fma", a.block ? json() : seen(a.fma)},
         {"compensated", seen(a.compensated)},
         {"accumulator", name_of(a.accumulator)},
         {"rounding", a.truncates == Seen::unknown ? json() : json(a.truncates == Seen::yes ? "rz" : "rne")},
         {"subnormals_kept",
          {{"operands", seen(a.subnormal_operands)}, {"results", seen(a.subnormal_results)}}}};
  if (a.block) {
    j["L"] = a.terms;
    j["F"] = a.frac;
    j["keep"] = a.keep;
  }
  return j;
}

json target(const ProbedVariant& p) {
  const Problem& problem = p.test.problem;
  json j{{"case", p.test.name},
         {"case_text", to_string(p.test)},
         {"problem", to_string(problem)},
         {"op", problem.params.op},
         {"in", name_of(p.test.in)},
         {"out", name_of(p.test.out)},
         {"variant", p.variant},
         {"source", p.source},
         {"vendor", p.vendor},
         {"mode", to_string(p.mode)},
         {"executed", p.executed},
         {"status", p.status},
         {"reason", or_null(p.reason)}};
  if (p.status != "ok") return j;
  const ProbeResult& r = p.result;
  j["engine"] = or_null(p.notes.engine);
  j["notes_of_launch"] = p.notes.notes;
  j["runs_differing"] = p.differing;
  j["launches"] = p.launches;
  j["found"] = p.found();
  j["plan"] = p.found() ? or_null(r.plan) : json();
  j["closest_plan"] = p.found() ? json() : or_null(r.plan);
  j["unique"] = p.found() ? json(p.unique()) : json();
  j["plans_agreeing"] = r.plans_agreeing;
  j["tree"] = or_null(r.tree);
  j["arithmetic"] = arithmetic(r.arithmetic);
  j["agrees_with_table"] = or_null(p.agrees_with_table);
  j["masks"] = r.masks;
  j["masks_agreeing"] = r.masks_agreeing;
  j["terms"] = r.terms;
  j["terms_covered"] = r.terms_covered;
  j["tested"] = r.outputs;
  j["equal"] = r.outputs_agreeing;
  j["candidates"] = r.candidates;
  j["notes"] = r.notes;
  j["declared_plan"] = or_null(p.declared);
  j["declared_tested"] = p.declared_tested;
  j["declared_equal"] = p.declared_equal;
  j["declared_was_a_hint"] = p.hinted;
  j["same_tree"] = or_null(p.same_tree);
  j["same_arithmetic"] = or_null(p.same_arithmetic);
  j["as_declared"] = or_null(p.as_declared());
  j["difference"] = or_null(p.difference);
  return j;
}

}  // namespace

json to_json(const ProbeReport& report) {
  json instructions = json::array(), targets = json::array();
  for (const StepFindings& s : report.steps) instructions.push_back(instruction(s));
  for (const ProbedVariant& p : report.targets) targets.push_back(target(p));
  return {{"schema", "ulpscope.probe/1"},
          {"environment", report.environment},
          {"arithmetic_agrees", or_null(report.agrees)},
          {"arithmetic_reason", or_null(report.why)},
          {"instructions", instructions},
          {"targets", targets}};
}

}  // namespace ulpscope
