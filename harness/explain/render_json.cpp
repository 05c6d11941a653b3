#include "harness/explain/render.hpp"

namespace ulpscope {
namespace {

nlohmann::json json_of(const std::vector<Rung>& rungs) {
  nlohmann::json list = nlohmann::json::array();
  for (const Rung& r : rungs) {
    nlohmann::json j{{"rung", r.name}, {"status", to_string(r.status)}, {"note", r.note}};
    if (r.measured) {
      j["max_residual"] = json_number(r.max_residual);
      j["mean_residual"] = json_number(r.mean_residual);
      j["equal_bits"] = r.equal_share;
    }
    list.push_back(j);
  }
  return list;
}

nlohmann::json json_of(const SideReport& s) {
  const Measurement& m = s.error;
  nlohmann::json j = figures_of(m);
  j.update({{"name", s.name},
            {"dtype", name_of(s.dtype)},
            {"correctly_rounded", m.equal_bits},
            {"violations", m.violations},
            {"bound", json_number(m.bound)},
            {"bound_formula", s.bound_formula},
            {"plan", nullptr},
            {"unique", s.unique},
            {"plans", s.plans},
            {"plans_tried", s.candidates_tried},
            {"operands", s.operands},
            {"operands_fit", s.operands_fit},
            {"operands_input", s.operands_input},
            {"operands_weight", s.operands_weight},
            {"bit_identical", s.bit_identical},
            {"verdict", to_string(s.verdict)},
            {"why", s.why},
            {"ladder", json_of(s.rungs)},
            {"mistake", nullptr},
            {"worst", nullptr}});
  if (s.plan) j["plan"] = *s.plan;
  if (!s.family.empty()) j["family"] = s.family;
  if (!s.flushes.empty()) j["flushes_subnormal"] = s.flushes;
  if (!s.unordered_plan.empty()) j["unordered_plan"] = s.unordered_plan;
  if (!s.plan && !s.best_plan.empty()) j["closest_plan"] = s.best_plan;
  if (s.mistake) {
    const Region& r = s.mistake->region;
    j["mistake"] = {{"name", s.mistake->name},
                    {"what", s.mistake->what},
                    {"evidence", s.mistake->evidence},
                    {"reproduced", s.mistake->reproduced},
                    {"where", r.words},
                    {"outputs", r.outputs},
                    {"axis", r.axis},
                    {"positions", r.positions},
                    {"first", r.first_coordinates}};
  }
  if (m.worst.index >= 0)
    j["worst"] = {{"index", m.worst.index},
                  {"coordinates", m.worst.coordinates},
                  {"value", json_number(m.worst.candidate)},
                  {"exact", json_number(m.worst.exact)},
                  {"error", json_number(m.worst.error)},
                  {"ulp", json_number(m.worst.ulp)},
                  {"magnitude", json_number(m.worst.magnitude)},
                  {"condition", json_number(m.worst.condition)},
                  {"terms", m.worst.terms}};
  return j;
}

}  // namespace

nlohmann::json to_json(const Explanation& e) {
  nlohmann::json j{{"schema", "ulpscope.explain/1"},
                   {"outputs", e.outputs},
                   {"pair", nullptr},
                   {"reference", nullptr},
                   {"candidate", json_of(e.candidate)},
                   {"cause", e.cause},
                   {"cause_why", e.cause_why},
                   {"ladder", json_of(e.rungs)},
                   {"tolerance_accepts_zeros", e.zeros_pass},
                   {"summary", e.summary}};
  if (e.pair) {
    const PairMeasurement& p = *e.pair;
    j["pair"] = {{"max_abs", json_number(p.max_abs)},
                 {"mean_abs", json_number(p.mean_abs)},
                 {"mean_signed", json_number(p.mean_signed)},
                 {"max_abs_index", p.max_abs_index},
                 {"nonfinite", p.nonfinite},
                 {"nonfinite_mismatch", p.nonfinite_mismatch},
                 {"equal_bits", p.equal_bits},
                 {"violations", p.violations},
                 {"atol", e.tolerance.atol},
                 {"rtol", e.tolerance.rtol}};
  }
  if (e.reference) j["reference"] = json_of(*e.reference);
  nlohmann::json all = nlohmann::json::array({j["candidate"]});
  all[0]["cause"] = e.cause;
  for (std::size_t i = 0; i < e.others.size(); ++i) {
    all.push_back(json_of(e.others[i]));
    all.back()["cause"] = e.other_causes[i];
  }
  j["candidates"] = all;
  const Attainability& a = e.attainable;
  j["attainable"] = {{"fp32", a.fp32},
                     {"tf32", a.tf32},
                     {"p_fail_fp32", json_number(a.p_fail_fp32)},
                     {"p_fail_tf32", json_number(a.p_fail_tf32)},
                     {"suggested_atol", json_number(a.suggested_atol)},
                     {"suggested_rtol", json_number(a.suggested_rtol)}};
  if (e.batch)
    j["batch"] = {{"rows", e.batch}, {"dumped_rows", e.rows}, {"spread_bound", json_number(e.batch_spread)}};
  j["repeats"] = nullptr;
  if (e.repeats.dumps > 0)
    j["repeats"] = {{"dumps", e.repeats.dumps},
                    {"differing", e.repeats.differing},
                    {"max_abs", json_number(e.repeats.max_abs)},
                    {"spread_bound", json_number(e.repeats.spread_bound)},
                    {"race", e.repeats.race},
                    {"first_index", e.repeats.first_index},
                    {"first_values", {json_number(e.repeats.first_a), json_number(e.repeats.first_b)}},
                    {"first_trees", {e.repeats.tree_a, e.repeats.tree_b}},
                    {"plans", e.repeats.plans}};
  return j;
}

}  // namespace ulpscope
