#include "reports/budget.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <toml++/toml.h>
#include <algorithm>
#include <chrono>

#include "harness/io/bytes.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr Figure kFigures[] = {Figure::max_scaled, Figure::max_abs, Figure::p50_ulp, Figure::p99_ulp,
                               Figure::p999_ulp};
const std::vector<std::string> kKeys{"case",    "variant",       "mode",     "max_scaled", "max_abs",
                                     "p50_ulp", "p99_ulp",       "p999_ulp", "violations", "verdicts",
                                     "bits",    "deterministic", "date",     "reason",     "owner"};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class BudgetReader {
 public:
  explicit BudgetReader(std::string file) : file_(std::move(file)) {}

  std::vector<Budget> read(std::string_view text) const {
    toml::table root;
    try {
      root = toml::parse(text, file_);
    } catch (const toml::parse_error& e) {
      throw Error(
          fmt::format("{}:{}: {}", file_, e.source().begin.line, one_line(std::string(e.description()))));
    }
    for (auto&& [key, node] : root)
      if (key.str() != "budget")
        fail(node, "unknown key '" + std::string(key.str()) + "': a file of budgets holds [[budget]] tables");
    const toml::node* list = root.get("budget");
    if (!list) throw Error(file_ + ": holds no [[budget]]");
    const toml::array* tables = list->as_array();
    if (!tables) fail(*list, "write [[budget]], with two brackets");
    std::vector<Budget> budgets;
    for (const auto& node : *tables) {
      if (!node.is_table()) fail(node, "each budget is a table");
      budgets.push_back(rule(*node.as_table()));
    }
    return budgets;
  }

 private:
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw Error(fmt::format("{}:{}: {}", file_, node.source().begin.line, one_line(message)));
  }

  std::string text(const toml::node& node, const std::string& what) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->find_first_not_of(" \t") == std::string::npos)
      fail(node, what + " must be a non-empty string");
    return one_line(*value);
  }

  std::vector<std::string> texts(const toml::node& node, const std::string& what) const {
    const toml::array* list = node.as_array();
    if (!list || list->empty()) fail(node, what + " must be a list of strings");
    std::vector<std::string> values;
    for (const auto& item : *list) values.push_back(text(item, what));
    return values;
  }

  /// Of the three that say who allowed it, when and why.
  std::string accountable(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (!node)
      fail(table, fmt::format("the budget has no '{}': every budget says when (date), why (reason) and who "
                              "answers for it (owner)",
                              key));
    if (const auto date = node->value_exact<toml::date>())
      return fmt::format("{:04}-{:02}-{:02}", date->year, date->month, date->day);
    return text(*node, key);
  }

  std::string date(const toml::table& table) const {
    const std::string day = accountable(table, "date");
    bool well_formed = day.size() == 10;
    for (std::size_t i = 0; well_formed && i < day.size(); ++i)
      well_formed = i == 4 || i == 7 ? day[i] == '-' : day[i] >= '0' && day[i] <= '9';
    if (well_formed) {
      using namespace std::chrono;
      const auto part = [&](std::size_t from, std::size_t n) { return std::stoi(day.substr(from, n)); };
      well_formed = year_month_day(year(part(0, 4)), month(static_cast<unsigned>(part(5, 2))),
                                   std::chrono::day(static_cast<unsigned>(part(8, 2))))
                        .ok();
    }
    if (!well_formed) fail(*table.get("date"), "date must be a day such as 2026-11-29");
    return day;
  }

  Limit limit(const toml::node& node, Figure figure) const {
    try {
      if (node.is_number()) return parse_limit(figure, fmt::format("{}", *node.value<double>()));
      return parse_limit(figure, text(node, to_string(figure)));
    } catch (const Error& e) {
      if (std::string_view(e.what()).starts_with(file_)) throw;
      fail(node, e.what());
    }
  }

  ViolationLimit violations(const toml::node& node) const {
    const toml::table* table = node.as_table();
    if (!table) fail(node, "violations must be a table such as {atol = 1e-4, rtol = 1e-4, most = 0}");
    ViolationLimit v;
    bool tolerance = false;
    for (auto&& [key, value] : *table) {
      const std::string name(key.str());
      const auto number = value.value<double>();
      if (name != "atol" && name != "rtol" && name != "most")
        fail(value, "unknown key '" + name + "'" + suggestion(name, {"atol", "rtol", "most"}));
      if (!number || !(*number >= 0 && *number <= 1e15))
        fail(value, "'" + name + "' must be a number of at least 0");
      if (name == "most" && !value.is_integer()) fail(value, "'most' must be a whole number of outputs");
      if (name == "most") v.most = *value.value<std::int64_t>();
      if (name == "atol") v.atol = *number;
      if (name == "rtol") v.rtol = *number;
      tolerance |= name != "most";
    }
    if (!tolerance) fail(node, "violations need the tolerance that they violate: atol, rtol or both");
    return v;
  }

  void bits(const toml::node& node, Budget& b) const {
    for (const std::string& word : texts(node, "bits")) {
      if (word == "runs") {
        b.bits_of_runs = true;
      } else if (word == "batch") {
        b.bits_of_batch = true;
      } else if (word == "plan") {
        b.bits_of_plan = true;
      } else if (word == "baseline") {
        b.bits_of_baseline = true;
      } else {
        fail(node,
             "unknown word '" + word + "' in bits" + suggestion(word, {"runs", "batch", "plan", "baseline"}));
      }
    }
  }

  void verdicts(const toml::node& node, Budget& b) const {
    b.verdicts.clear();
    for (const std::string& word : texts(node, "verdicts")) {
      Verdict v{};
      try {
        v = parse_verdict(word);
      } catch (const Error& e) {
        fail(node, e.what());
      }
      if (v == Verdict::error || v == Verdict::skipped || v == Verdict::vacuous)
        fail(node, "no budget allows '" + word + "': nothing was verified then");
      b.verdicts.push_back(v);
    }
  }

  Budget rule(const toml::table& table) const {
    for (auto&& [key, node] : table) {
      const std::string name(key.str());
      if (name == "max_ulp")
        fail(node, "the largest ULP is no limit (near zero it is arbitrary): use max_scaled or p999_ulp");
      if (std::find(kKeys.begin(), kKeys.end(), name) == kKeys.end())
        fail(node, "unknown key '" + name + "'" + suggestion(name, kKeys));
    }
    Budget b;
    b.file = file_;
    b.line = static_cast<int>(table.source().begin.line);
    const toml::node* test = table.get("case");
    if (!test) fail(table, "the budget has no 'case': name the cases it is for, such as \"smoke/*\"");
    b.case_pattern = text(*test, "case");
    if (const toml::node* n = table.get("variant")) b.variant_pattern = text(*n, "variant");
    if (const toml::node* n = table.get("mode")) b.mode_pattern = text(*n, "mode");
    for (const Figure figure : kFigures)
      if (const toml::node* n = table.get(to_string(figure))) b.limits.push_back(limit(*n, figure));
    if (const toml::node* n = table.get("violations")) b.violations = violations(*n);
    if (const toml::node* n = table.get("verdicts")) verdicts(*n, b);
    if (const toml::node* n = table.get("bits")) bits(*n, b);
    if (const toml::node* n = table.get("deterministic")) {
      const auto value = n->value_exact<bool>();
      if (!value) fail(*n, "deterministic must be true or false");
      b.deterministic = *value;
    }
    b.date = date(table);
    b.reason = accountable(table, "reason");
    b.owner = accountable(table, "owner");
    return b;
  }

  std::string file_;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

bool Budget::allows(Verdict v) const {
  return std::find(verdicts.begin(), verdicts.end(), v) != verdicts.end();
}

bool Budget::matches(const std::string& test, const std::string& variant, const std::string& mode) const {
  return fnmatch(mode_pattern.c_str(), mode.c_str(), 0) == 0 &&
         fnmatch(variant_pattern.c_str(), variant.c_str(), 0) == 0 &&
         fnmatch(case_pattern.c_str(), test.c_str(), 0) == 0;
}

std::vector<Budget> parse_budgets(std::string_view toml, const std::string& file) {
  return BudgetReader(file).read(toml);
}

std::vector<Budget> read_budgets(const std::string& path) {
  const Bytes file = map_file(path);
  return parse_budgets(file.text(), path);
}

int deciding_budget(const std::vector<Budget>& budgets, const std::string& test, const std::string& variant,
                    const std::string& mode) {
  for (int i = static_cast<int>(budgets.size()); i-- > 0;)
    if (budgets[static_cast<std::size_t>(i)].matches(test, variant, mode)) return i;
  return -1;
}

std::string to_toml(const Budget& b, const std::vector<std::string>& comments) {
  std::string out;
  for (const std::string& line : comments) out += "# " + one_line(line) + "\n";
  out += "[[budget]]\n";
  const auto add = [&](const char* key, const std::string& value) {
    out += fmt::format("{} = {}\n", key, value);
  };
  add("case", quoted(b.case_pattern));
  if (b.variant_pattern != "*") add("variant", quoted(b.variant_pattern));
  if (b.mode_pattern != "*") add("mode", quoted(b.mode_pattern));
  for (const Limit& limit : b.limits)
    add(to_string(limit.figure),
        limit.base == Limit::Base::number ? to_string(limit) : quoted(to_string(limit)));
  if (b.violations)
    add("violations", fmt::format("{{atol = {}, rtol = {}, most = {}}}", b.violations->atol,
                                  b.violations->rtol, b.violations->most));
  const auto list = [](const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + quoted(word);
    return "[" + all + "]";
  };
  if (b.verdicts != Budget{}.verdicts) {
    std::vector<std::string> words;
    for (const Verdict v : b.verdicts) words.emplace_back(to_string(v));
    add("verdicts", list(words));
  }
  std::vector<std::string> bits;
  if (b.bits_of_runs) bits.emplace_back("runs");
  if (b.bits_of_batch) bits.emplace_back("batch");
  if (b.bits_of_plan) bits.emplace_back("plan");
  if (b.bits_of_baseline) bits.emplace_back("baseline");
  if (!bits.empty()) add("bits", list(bits));
  if (b.deterministic) add("deterministic", "true");
  add("date", b.date);
  add("reason", quoted(b.reason));
  add("owner", quoted(b.owner));
  return out;
}

}  // namespace ulpscope
