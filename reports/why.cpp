#include "reports/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "harness/explain/explain.hpp"
#include "harness/explain/trees.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"
#include "reports/json_fields.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOthers = 8;
constexpr std::int64_t kMostTerms = 4096;  // of a tree that is drawn

/// A result as far as it can be compared.
struct Known {
  const ResultView* view = nullptr;
  std::optional<Fields> explanation;
  json ranges;
  std::vector<double> values;  // of the outputs kept
  std::string bits;
  SideReport side;
};

std::string name_of_result(const ResultView& r) {
  return r.variant + " (" + r.mode + ")";
}

std::vector<double> values_of(const std::string& bits, DType out) {
  const std::size_t digits = 2 * static_cast<std::size_t>(size_of(out));
  std::vector<double> values;
  for (std::size_t i = 0; i + digits <= bits.size(); i += digits)
    values.push_back(value_of_bits(out, std::stoul(bits.substr(i, digits), nullptr, 16)));
  return values;
}

/// A page says it from one result's place.
std::string from_here(std::string why) {
  for (const auto& [from, to] : {std::pair{"the candidate", "this one"}, {"the reference", "the other"}})
    for (std::size_t at = 0; (at = why.find(from, at)) != why.npos;)
      why.replace(at, std::string(from).size(), to);
  return why;
}

/// From the explanation, else from the plan alone: a plan says how operands are rounded.
SideReport side_of(const ResultView& r, const std::optional<Fields>& e, DType out) {
  SideReport s;
  s.name = name_of_result(r);
  s.dtype = out;
  if (r.error) s.error.nonfinite_mismatch = r.error->nonfinite_mismatch;
  if (!r.plan.empty()) {
    s.plan = r.plan;
    s.plans = {r.plan};
  }
  if (e) {
    s.operands = e->text("operands");
    s.operands_input = e->text("operands_input");
    s.operands_weight = e->text("operands_weight");
    s.operands_fit = e->texts("operands_fit");
    s.input_fit = e->texts("input_fit");
    s.weight_fit = e->texts("weight_fit");
    s.parts = e->text("parts");
  } else if (s.plan) {
    const auto plan = parse_plan(*s.plan);
    s.operands_input = info(plan->operands.a).name;
    s.operands_weight = info(plan->operands.b).name;
    if (plan->operands.a == plan->operands.b) s.operands = s.operands_input;
    if (plan->operands.pass_count() > 1) {
      s.operands = s.operands_input = s.operands_weight = "unknown";
      s.parts = s.plan->substr(0, s.plan->find(" | "));
    } else {
      s.input_fit = {s.operands_input};
      s.weight_fit = {s.operands_weight};
    }
  }
  return s;
}

bool same_everywhere(const ResultView& x, const ResultView& y) {
  return !x.output_hash.empty() && x.output_hash == y.output_hash && x.outputs == y.outputs;
}

/// The results of one case, and the trees of their plans.
class CaseWhys {
 public:
  CaseWhys(const std::vector<const ResultView*>& results, const std::vector<const json*>& rows,
           const std::string& where, json& trees)
      : trees_(trees) {
    try {
      const Case test = parse_case(results.front()->case_text);
      out_ = test.out;
      const Contraction c = lower(test.problem);
      if (c.terms() <= kMostTerms) axes_ = reduction_axes(c);
    } catch (const Error&) {
      return;  // a case that this version cannot read: its results stand without this
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      Known k;
      k.view = results[i];
      if (rows[i]->is_object()) {
        k.explanation.emplace(*rows[i], where + ": explanation");
        k.ranges = rows[i]->value("ranges", json());
        k.bits = k.explanation->text("bits");
        if (k.bits.find_first_not_of("0123456789abcdef") != k.bits.npos)
          throw Error(where +
                      ": 'bits' of an explanation must be hexadecimal digits: write the record again");
        k.values = values_of(k.bits, out_);
      }
      try {
        k.side = side_of(*k.view, k.explanation, out_);
      } catch (const Error&) {
        k.side = SideReport{};  // a plan of another version
      }
      known_.push_back(std::move(k));
    }
  }

  json of(std::size_t i) {
    if (known_.empty()) return nullptr;
    const Known& k = known_[i];
    if (!k.explanation && k.view->plan.empty() && k.view->output_hash.empty()) return nullptr;
    json why{{"cause", ""},
             {"why", ""},
             {"outputs", 0},
             {"same", json::array()},
             {"others", json::array()},
             {"tree", nullptr},
             {"with", nullptr}};
    if (k.explanation) {
      why["cause"] = k.explanation->text("cause");
      why["why"] = from_here(k.explanation->text("cause_why"));
      why["outputs"] = k.explanation->count_or_0("outputs");
    }
    std::vector<const Known*> others = comparable(k);
    for (const Known* o : others)
      if (same_everywhere(*k.view, *o->view)) why["same"].push_back(name_of_result(*o->view));
    std::erase_if(others, [&](const Known* o) { return same_everywhere(*k.view, *o->view); });
    const Known* beside = beside_of(k, others);
    if (others.size() > kMostOthers) others.resize(kMostOthers);
    for (const Known* o : others) why["others"].push_back(compared(k, *o));
    if (beside) why["with"] = name_of_result(*beside->view);
    why["tree"] = tree(k, beside);
    return why;
  }

 private:
  DType out_ = DType::f32;
  std::vector<NamedExtent> axes_;
  std::vector<Known> known_;
  std::map<std::string, json> drawn_;  // index into trees_, by the two plans
  json& trees_;

  /// Those on the same inputs: what declares no plan first (libraries, dumps), then the same mode.
  std::vector<const Known*> comparable(const Known& k) const {
    std::vector<const Known*> list;
    for (const Known& o : known_)
      if (&o != &k && o.view->input_hash == k.view->input_hash && !o.view->executed.empty() &&
          !k.view->executed.empty())
        list.push_back(&o);
    std::stable_sort(list.begin(), list.end(), [&](const Known* x, const Known* y) {
      const auto rank = [&](const Known* o) {
        return std::pair(!o->view->declared_plan.empty(), o->view->mode != k.view->mode);
      };
      return rank(x) < rank(y);
    });
    return list;
  }

  /// Whose tree is shown beside: the first with another plan.
  static const Known* beside_of(const Known& k, const std::vector<const Known*>& others) {
    for (const Known* o : others)
      if (!o->view->plan.empty() && o->view->plan != k.view->plan) return o;
    return nullptr;
  }

  json compared(const Known& k, const Known& o) const {
    json j{{"name", name_of_result(*o.view)},
           {"max_abs", nullptr},
           {"mean_abs", nullptr},
           {"equal", nullptr},
           {"violations", nullptr},
           {"cause", "unexplained"},
           {"why", ""}};
    bool same_bits = false;
    if (!k.values.empty() && k.ranges == o.ranges && k.values.size() == o.values.size()) {
      double most = 0, sum = 0;
      std::int64_t finite = 0, equal = 0, beyond = 0;
      const std::size_t digits = k.bits.size() / k.values.size();
      const double atol = k.view->error ? k.view->error->atol.value_or(-1) : -1;
      const double rtol = k.view->error ? k.view->error->rtol.value_or(0) : 0;
      for (std::size_t i = 0; i < k.values.size(); ++i) {
        const double difference = std::fabs(k.values[i] - o.values[i]);
        equal += k.bits.compare(i * digits, digits, o.bits, i * digits, digits) == 0;
        beyond += !(difference <= atol + rtol * std::fabs(o.values[i]));
        if (!std::isfinite(difference)) continue;
        most = std::max(most, difference);
        sum += difference;
        ++finite;
      }
      j["max_abs"] = most;
      j["mean_abs"] = finite ? sum / static_cast<double>(finite) : 0;
      j["equal"] = static_cast<double>(equal) / static_cast<double>(k.values.size());
      if (atol >= 0) j["violations"] = beyond;
      same_bits = equal == static_cast<std::int64_t>(k.values.size());
    }
    const auto say = [&](const char* cause, const std::string& why) {
      j["cause"] = cause;
      j["why"] = why;
      return j;
    };
    const bool hashed = !k.view->output_hash.empty() && !o.view->output_hash.empty();
    if (same_bits && !hashed) return say("none", "the same bits in all outputs looked at");
    for (const Known* side : {&k, &o})
      if (side->view->runs_identical == false)
        return say("nondeterminism", name_of_result(*side->view) + " gave other bits in its second run");
    if (!k.explanation && !k.side.plan && !o.side.plan) return say("", "");
    std::string why;
    const std::string cause = cause_of(k.side, &o.side, why);
    return say(cause.c_str(), from_here(why));
  }

  json tree(const Known& k, const Known* beside) {
    if (axes_.empty() || k.view->plan.empty()) return nullptr;
    const std::string key = k.view->plan + "\n" + (beside ? beside->view->plan : "");
    const auto found = drawn_.find(key);
    if (found != drawn_.end()) return found->second;
    Explanation e;
    e.candidate.plan = k.view->plan;
    if (beside) e.reference.emplace().plan = beside->view->plan;
    json drawing;
    try {
      drawing = trees_of(e, axes_);
    } catch (const Error&) {
      drawing = nullptr;  // a plan of another version, or one that does not fit the operator
    }
    json index;
    if (!drawing.is_null()) {
      index = trees_.size();
      trees_.push_back(drawing);
    }
    return drawn_.emplace(key, index).first->second;
  }
};

}  // namespace

Whys whys_of(const RecordView& record) {
  Whys whys;
  static const json none;
  const json& rows = record.raw->at("results");
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> cases;  // dumps: by their text, too
  for (std::size_t i = 0; i < record.results.size(); ++i)
    cases[{record.results[i].test, record.results[i].case_text}].push_back(i);
  whys.results = json(record.results.size(), json());
  for (const auto& [key, members] : cases) {
    std::vector<const ResultView*> results;
    std::vector<const json*> explanations;
    for (const std::size_t i : members) {
      results.push_back(&record.results[i]);
      const auto found = rows[i].find("explanation");
      explanations.push_back(found == rows[i].end() ? &none : &*found);
    }
    CaseWhys of_case(results, explanations, record.name + ": " + key.first, whys.trees);
    for (std::size_t i = 0; i < members.size(); ++i) whys.results[members[i]] = of_case.of(i);
  }
  return whys;
}

}  // namespace ulpscope
