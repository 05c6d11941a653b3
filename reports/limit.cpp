// Limits as text.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "harness/suggest.hpp"
#include "reference/error.hpp"
#include "reports/budget.hpp"

namespace ulpscope {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

const char* to_string(Figure figure) {
  switch (figure) {
    case Figure::max_scaled:
      return "max_scaled";
    case Figure::max_abs:
      return "max_abs";
    case Figure::p50_ulp:
      return "p50_ulp";
    case Figure::p99_ulp:
      return "p99_ulp";
    case Figure::p999_ulp:
      return "p999_ulp";
  }
  return "?";
}

Limit parse_limit(Figure figure, std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    return Error(fmt::format("{} = '{}': {}", to_string(figure), text, why));
  };
  Limit limit;
  limit.figure = figure;
  if (const auto value = number(text)) {
    if (!(*value >= 0) || !std::isfinite(*value)) throw refuse("a limit is a finite number of at least 0");
    limit.factor = *value;
    return limit;
  }
  std::string_view base = text;
  if (const std::size_t x = text.find("x "); x != std::string_view::npos) {
    const auto factor = number(text.substr(0, x));
    if (!factor || !(*factor > 0) || !std::isfinite(*factor))
      throw refuse("a factor is a number above 0, as in '2x expected_max'");
    limit.factor = *factor;
    base = text.substr(x + 2);
    while (base.starts_with(' ')) base.remove_prefix(1);
  }
  const bool absolute = figure == Figure::max_abs;
  if (base == "bound") {
    if (!absolute && figure != Figure::max_scaled)
      throw refuse("a bound limits max_abs and max_scaled, no percentile");
    limit.base = Limit::Base::bound;
  } else if (base == "expected_max") {
    if (!absolute) throw refuse("expected_max is an absolute error: use it with max_abs");
    limit.base = Limit::Base::expected_max;
  } else if (const std::size_t colon = base.find(':'); colon != std::string_view::npos) {
    limit.base = Limit::Base::result;
    limit.variant = base.substr(0, colon);
    limit.mode = base.substr(colon + 1);
    if (limit.variant.empty() || limit.mode.empty() || base.find(' ') != std::string_view::npos)
      throw refuse("another result is named VARIANT:MODE, as in '2x cudnn:strict'");
  } else {
    throw refuse("it is a number, or bound, expected_max or VARIANT:MODE, each after a factor if you like" +
                 std::string(" ('2x expected_max')"));
  }
  return limit;
}

std::string to_string(const Limit& limit) {
  if (limit.base == Limit::Base::number) return fmt::format("{}", limit.factor);
  const std::string factor = limit.factor == 1 ? "" : fmt::format("{}x ", limit.factor);
  if (limit.base == Limit::Base::bound) return factor + "bound";
  if (limit.base == Limit::Base::expected_max) return factor + "expected_max";
  return factor + limit.variant + ":" + limit.mode;
}

}  // namespace ulpscope
