// The one-line form of fills and cases: printed in records, accepted on command lines and in case files.
#include <xxhash.h>

#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "harness/case.hpp"
#include "harness/inputs.hpp"
#include "harness/io/read_tensor.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"
#include "reference/operators/registry.hpp"

namespace ulpscope {
namespace {

// ---- numbers
// -----------------------------------------------------------------------------------------------

std::string shortest(double x) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return {text.data(), end};
}

double parse_number(std::string_view text, std::string_view where) {
  double x = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(x))
    throw Error("'" + std::string(text) + "' in '" + std::string(where) + "' is no finite number");
  return x;
}

template <class Integer>
Integer parse_integer(std::string_view text, std::string_view where) {
  Integer x = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || stop != text.data() + text.size())
    throw Error("'" + std::string(text) + "' in '" + std::string(where) + "' is no whole number in range");
  return x;
}

// ---- fills
// -------------------------------------------------------------------------------------------------

struct KindParameters {
  const char* kind;
  std::array<double Fill::*, 3> parameters;  // positional; null where there are fewer
  Fill defaults;
};

const std::vector<KindParameters>& kinds() {
  static const std::vector<KindParameters> table{
      {"uniform", {&Fill::lo, &Fill::hi}, {"uniform", 0, 1}},
      {"normal", {&Fill::mean, &Fill::stddev}, {"normal"}},
      {"default_weight", {}, {"default_weight"}},
      {"integers", {&Fill::lo, &Fill::hi}, {"integers", -4, 5}},
      {"condition", {&Fill::condition}, {"condition"}},
      {"wide", {&Fill::lo, &Fill::hi}, {"wide", -20, 20}},
      {"subnormal", {}, {"subnormal"}},
      {"special", {&Fill::lo, &Fill::hi, &Fill::rate}, {"special", -1, 1}},
      {"tf32", {&Fill::lo, &Fill::hi}, {"tf32", -1, 1}},
      {"ones", {}, {"ones"}},
      {"zeros", {}, {"zeros"}},
  };
  return table;
}

const KindParameters& kind_named(std::string_view name) {
  for (const auto& k : kinds())
    if (name == k.kind) return k;
  throw Error("unknown fill '" + std::string(name) + "'" + suggestion(name, fill_kinds()));
}

// ---- words of a case
// ---------------------------------------------------------------------------------------

void parse_axes(std::array<std::int64_t, 3>& values, std::string_view text, int rank, std::string_view word) {
  std::size_t axis = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto value = parse_integer<std::int64_t>(text.substr(0, comma), word);
    if (axis >= static_cast<std::size_t>(rank))
      throw Error("'" + std::string(word) + "' gives more values than the operator has spatial axes (" +
                  std::to_string(rank) + ")");
    values[axis++] = value;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (axis == 1)
    for (; axis < static_cast<std::size_t>(rank); ++axis) values[axis] = values[0];
  else if (axis != static_cast<std::size_t>(rank))
    throw Error("'" + std::string(word) + "' needs one value, or one per spatial axis (" +
                std::to_string(rank) + ")");
}

bool is_axes_word(std::string_view word, std::string_view letter) {
  return word.starts_with(letter) && word.size() > letter.size() && word[letter.size()] >= '0' &&
         word[letter.size()] <= '9';
}

// One word after the shapes; false if it is none of the operator's parameters.
bool parse_parameter(OperatorParams& p, const std::string& word, int rank) {
  if (is_axes_word(word, "op"))
    parse_axes(p.output_padding, std::string_view(word).substr(2), rank, word);
  else if (is_axes_word(word, "s"))
    parse_axes(p.stride, std::string_view(word).substr(1), rank, word);
  else if (is_axes_word(word, "p"))
    parse_axes(p.padding, std::string_view(word).substr(1), rank, word);
  else if (is_axes_word(word, "d"))
    parse_axes(p.dilation, std::string_view(word).substr(1), rank, word);
  else if (is_axes_word(word, "g"))
    p.groups = parse_integer<std::int64_t>(std::string_view(word).substr(1), word);
  else if (word == "tA")
    p.transpose_a = true;
  else if (word == "tB")
    p.transpose_b = true;
  else if (word == "bias")
    p.bias = true;
  else
    return false;
  return true;
}

void parse_setting(Case& c, const std::string& key, const std::string& value, const std::string& word,
                   bool& seed_given) {
  auto tolerance = [&]() -> Tolerance& {
    if (!c.tolerance) c.tolerance.emplace();
    return *c.tolerance;
  };
  if (key == "in") {
    c.in = parse_dtype(value);
  } else if (key == "out") {
    c.out = parse_dtype(value);
  } else if (key == "a") {
    c.fill_a = parse_fill(value);
  } else if (key == "b") {
    c.fill_b = parse_fill(value);
  } else if (key == "bias") {
    c.fill_bias = parse_fill(value);
    c.problem.params.bias = true;
  } else if (key == "seed") {
    c.seed = parse_integer<std::uint64_t>(value, word);
    seed_given = true;
  } else if (key == "atol" || key == "rtol") {
    const double x = parse_number(value, word);
    if (x < 0) throw Error("'" + word + "' is negative: a tolerance is at least 0");
    (key == "atol" ? tolerance().atol : tolerance().rtol) = x;
  } else {
    throw Error("unknown setting '" + word + "'" +
                suggestion(key, {"in", "out", "a", "b", "bias", "seed", "atol", "rtol"}));
  }
}

}  // namespace

const std::vector<std::string>& fill_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& k : kinds()) list.emplace_back(k.kind);
    return list;
  }();
  return names;
}

Fill default_fill(std::string_view kind) {
  return kind_named(kind).defaults;
}

std::string to_string(const Fill& fill) {
  const KindParameters& k = kind_named(fill.kind);
  std::string text = fill.kind;
  for (std::size_t i = 0; i < k.parameters.size() && k.parameters[i]; ++i)
    text += (i == 0 ? "(" : ",") + shortest(fill.*k.parameters[i]);
  return k.parameters[0] ? text + ")" : text;
}

Fill parse_fill(std::string_view text) {
  const std::size_t open = text.find('(');
  const KindParameters& k = kind_named(text.substr(0, open));
  Fill fill = k.defaults;
  if (open == std::string_view::npos) return fill;
  if (text.back() != ')') throw Error("the fill '" + std::string(text) + "' lacks its closing parenthesis");
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  for (std::size_t i = 0;; ++i) {
    if (i >= k.parameters.size() || !k.parameters[i])
      throw Error("the fill '" + std::string(text) + "' has too many parameters: " + k.kind + " takes " +
                  std::to_string(i));
    const std::size_t comma = rest.find(',');
    fill.*k.parameters[i] = parse_number(rest.substr(0, comma), text);
    if (comma == std::string_view::npos) return fill;
    rest.remove_prefix(comma + 1);
  }
}

std::string to_string(const Case& c) {
  std::string text = to_string(c.problem);
  text += std::string(" in=") + name_of(c.in) + " out=" + name_of(c.out) + " a=" + to_string(c.fill_a);
  if (!c.problem.b.empty()) text += " b=" + to_string(c.fill_b);
  if (c.problem.params.bias) text += " bias=" + to_string(c.fill_bias);
  text += " seed=" + std::to_string(c.seed);
  if (c.tolerance) text += " atol=" + shortest(c.tolerance->atol) + " rtol=" + shortest(c.tolerance->rtol);
  return text;
}

Case parse_case(std::string_view text) {
  Case c;
  c.name = std::string(text);
  c.fill_b = c.fill_bias = default_fill("default_weight");
  std::istringstream words{c.name};
  std::string word, a;
  if (!(words >> c.problem.params.op >> a))
    throw Error("a case needs an operator and shapes, as in 'conv2d 2x3x9x9 * 4x3x3x3 p1'");
  const int rank = spatial_rank(c.problem.params.op);
  c.problem.a = parse_shape(a);
  bool seed_given = false;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (word == "*" || word == "->") {
      std::string shape;
      if (!(words >> shape)) throw Error("a shape must follow '" + word + "', as in 4x3x3x3");
      (word == "*" ? c.problem.b : c.problem.params.target) = parse_shape(shape);
    } else if (equals != std::string::npos) {
      parse_setting(c, word.substr(0, equals), word.substr(equals + 1), word, seed_given);
    } else if (!parse_parameter(c.problem.params, word, rank)) {
      throw Error("cannot read '" + word +
                  "' in a case: use s2 p1 op1 d1 g1 tA tB bias, '* SHAPE', '-> SHAPE' " +
                  "or settings such as a=uniform(0,1)");
    }
  }
  if (!seed_given) {
    const std::string problem = to_string(c.problem);
    c.seed = XXH3_64bits(problem.data(), problem.size()) & 0xffffffff;
  }
  return c;
}

void check_case(const Case& c) {
  resolve_fills(c);
}

}  // namespace ulpscope
