// Cases in TOML: a file is a list of [[case]] tables, whose settings a [defaults] table may share.
#include "harness/case.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "harness/io/bytes.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKeys{"name", "problem", "dtype", "in",   "out",       "fill",    "a",
                                     "b",    "bias",    "seed",  "tags", "tolerance", "variants"};

// Reads one file; every failure names it and the line.
class Reader {
 public:
  Reader(std::string file, std::string stem) : file_(std::move(file)), stem_(std::move(stem)) {}

  std::vector<Case> read(std::string_view text) {
    toml::table document;
    try {
      document = toml::parse(text, file_);
    } catch (const toml::parse_error& e) {
      throw Error(file_ + ":" + std::to_string(e.source().begin.line) +
                  ": no valid TOML: " + one_line(e.description()));
    }
    const toml::table none;
    const toml::table* defaults = &none;
    std::vector<Case> cases;
    for (auto&& [key, node] : document) {
      if (key.str() == "defaults" && node.is_table())
        defaults = node.as_table();
      else if (key.str() != "case" || !node.is_array_of_tables())
        fail(node, "unexpected '" + std::string(key.str()) + "'" +
                       suggestion(key.str(), {"[[case]]", "[defaults]"}));
    }
    check_keys(*defaults);
    for (const char* own : {"name", "problem"})
      if (const auto* node = defaults->get(own))
        fail(*node, std::string(own) + " belongs to a case, not to [defaults]");
    if (const toml::array* list = document["case"].as_array())
      for (const auto& node : *list) cases.push_back(read_case(*node.as_table(), *defaults));
    if (cases.empty()) throw Error(file_ + ": holds no [[case]]: add one, or delete the file");
    return cases;
  }

 private:
  static std::string one_line(std::string_view text) {
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return line;
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw Error(file_ + ":" + std::to_string(node.source().begin.line) + ": " + one_line(message));
  }
  void check_keys(const toml::table& table) const {
    for (auto&& [key, node] : table)
      if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end())
        fail(node, "unknown key '" + std::string(key.str()) + "'" + suggestion(key.str(), kKeys));
  }
  std::string text(const toml::node& node, const char* what) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) fail(node, std::string(what) + " must be a non-empty string");
    return *value;
  }
  std::vector<std::string> texts(const toml::node& node, const char* what) const {
    const toml::array* list = node.as_array();
    if (!list) fail(node, std::string(what) + " must be a list of strings");
    std::vector<std::string> values;
    for (const auto& item : *list) values.push_back(text(item, what));
    return values;
  }
  double number(const toml::node& node, const char* what) const {
    const auto value = node.value<double>();
    if (!value) fail(node, std::string(what) + " must be a number");
    return *value;
  }
  Tolerance tolerance(const toml::node& node) const {
    const toml::table* table = node.as_table();
    if (!table) fail(node, "tolerance must be a table such as {atol = 1e-4, rtol = 1e-4}");
    Tolerance t;
    for (auto&& [key, value] : *table) {
      if (key.str() != "atol" && key.str() != "rtol")
        fail(value, "unknown key '" + std::string(key.str()) + "'" + suggestion(key.str(), {"atol", "rtol"}));
      const double x = number(value, "a tolerance");
      if (!(x >= 0 && x <= 1e300)) fail(value, "a tolerance must be a finite number of at least 0");
      (key.str() == "atol" ? t.atol : t.rtol) = x;
    }
    return t;
  }

  // Settings that a case and [defaults] share. `dtype` and `fill` come before the keys that refine them.
  void apply(const toml::table& table, Case& c) const {
    auto with = [&](const char* key, auto&& use) {
      if (const toml::node* node = table.get(key)) located(*node, [&] { use(*node); });
    };
    with("dtype", [&](auto& n) { c.in = c.out = parse_dtype(text(n, "dtype")); });
    with("in", [&](auto& n) { c.in = parse_dtype(text(n, "in")); });
    with("out", [&](auto& n) { c.out = parse_dtype(text(n, "out")); });
    with("fill", [&](auto& n) {
      c.fill_a = c.fill_b = parse_fill(text(n, "fill"));
      c.fill_bias = c.fill_a.kind == "condition" ? default_fill("zeros") : c.fill_a;
    });
    with("a", [&](auto& n) { c.fill_a = parse_fill(text(n, "a")); });
    with("b", [&](auto& n) { c.fill_b = parse_fill(text(n, "b")); });
    with("bias", [&](auto& n) { c.fill_bias = parse_fill(text(n, "bias")); });
    with("seed", [&](auto& n) {
      const auto value = n.template value_exact<std::int64_t>();
      if (!value || *value < 0) fail(n, "seed must be a whole number of at least 0");
      c.seed = static_cast<std::uint64_t>(*value);
    });
    with("tolerance", [&](auto& n) { c.tolerance = tolerance(n); });
    with("variants", [&](auto& n) { c.variants = texts(n, "variants"); });
    with("tags", [&](auto& n) {
      for (auto& tag : texts(n, "tags"))
        if (std::find(c.tags.begin(), c.tags.end(), tag) == c.tags.end()) c.tags.push_back(std::move(tag));
    });
  }

  // Runs `use`; an Error that names no line yet gets this node's.
  template <class Use>
  void located(const toml::node& node, Use use) const {
    try {
      use();
    } catch (const Error& e) {
      if (std::string_view(e.what()).starts_with(file_ + ":")) throw;
      fail(node, e.what());
    }
  }

  Case read_case(const toml::table& table, const toml::table& defaults) const {
    check_keys(table);
    const toml::node* name = table.get("name");
    const toml::node* problem = table.get("problem");
    if (!name) fail(table, "a case needs a name");
    if (!problem) fail(table, "a case needs a problem, such as \"conv2d 2x3x9x9 * 4x3x3x3 p1\"");
    Case c;
    located(*problem, [&] {
      const std::string line = text(*problem, "problem");
      if (line.find('=') != std::string::npos)
        throw Error("settings such as a=... or seed=... are keys of their own in a file");
      c = parse_case(line);
    });
    c.name = stem_ + "/" + text(*name, "name");
    if (c.name.find_first_of(" *?\t\n") != std::string::npos)
      fail(*name, "a case's name holds no spaces and no wildcards");
    c.file = file_;
    apply(defaults, c);
    apply(table, c);
    located(table, [&] { check_case(c); });
    return c;
  }

  std::string file_, stem_;
};

bool glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool selects(const std::string& pattern, const Case& c) {
  return glob(pattern, c.name) || c.name.starts_with(pattern + "/") ||
         std::find(c.tags.begin(), c.tags.end(), pattern) != c.tags.end();
}

}  // namespace

std::vector<Case> parse_cases(std::string_view toml, const std::string& file, const std::string& stem) {
  return Reader(file, stem).read(toml);
}

std::vector<Case> load_cases(const std::string& path) {
  std::error_code ignored;
  std::vector<fs::path> files;
  const bool folder = fs::is_directory(path, ignored);
  if (folder) {
    for (auto at = fs::recursive_directory_iterator(path); at != fs::recursive_directory_iterator(); ++at) {
      const fs::path& file = at->path();
      if (at->is_directory() && (file.filename() == "budgets" || file.filename() == "suites"))
        at.disable_recursion_pending();  // files beside the cases, of other kinds
      if (at->is_regular_file() && file.extension() == ".toml") files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) throw Error("'" + path + "' holds no *.toml: name a folder of cases, such as cases");
  } else {
    files.emplace_back(path);
  }
  std::vector<Case> all;
  std::set<std::string> names;
  for (const auto& file : files) {
    fs::path stem = folder ? file.lexically_relative(path) : file.filename();
    const Bytes bytes = map_file(file.string());
    for (Case& c : parse_cases(bytes.text(), file.string(), stem.replace_extension().generic_string())) {
      if (!names.insert(c.name).second)
        throw Error(file.string() + ": case '" + c.name + "' appears twice: rename one");
      all.push_back(std::move(c));
    }
  }
  return all;
}

std::vector<Case> select_cases(const std::vector<Case>& all, const std::vector<std::string>& patterns) {
  std::vector<bool> chosen(all.size(), false);
  std::vector<Case> texts;
  for (const std::string& pattern : patterns) {
    if (pattern.find(' ') != std::string::npos) {
      texts.push_back(parse_case(pattern));
      check_case(texts.back());
      continue;
    }
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (selects(pattern, all[i])) chosen[i] = any = true;
    if (any) continue;
    std::vector<std::string> choices;
    for (const Case& c : all) {
      choices.push_back(c.name);
      choices.push_back(c.name.substr(0, c.name.rfind('/')));
      choices.insert(choices.end(), c.tags.begin(), c.tags.end());
    }
    std::sort(choices.begin(), choices.end());
    choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
    const std::string near = nearest(pattern, choices);
    throw Error("no case matches '" + pattern + "'" +
                (near.empty() ? ": 'ulpscope list' shows cases and tags" : ": did you mean '" + near + "'?"));
  }
  std::vector<Case> selection;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) selection.push_back(all[i]);
  selection.insert(selection.end(), texts.begin(), texts.end());
  if (selection.empty()) throw Error("no case is selected: name cases, files or tags (see 'ulpscope list')");
  return selection;
}

}  // namespace ulpscope
