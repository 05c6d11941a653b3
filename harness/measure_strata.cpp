#include "harness/measure_strata.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace ulpscope {
namespace {

constexpr std::int64_t kMaxChannelGroups = 64;  // more channels are taken in equal groups of neighbours

std::int64_t valid_taps(const RedAxis& r, std::int64_t o) {
  std::int64_t valid = 0;
  const Coupling& k = r.coupling;
  for (std::int64_t t = 0; t < r.size; ++t) {
    const std::int64_t at = k.o_mul * o + k.r_mul * t + k.offset;
    valid += at % k.divisor == 0 && at / k.divisor >= 0 && at / k.divisor < k.extent && at >= 0;
  }
  return valid;
}

}  // namespace

StrataMap::StrataMap(const Contraction& c) {
  std::vector<Axis> axes;
  for (const OutAxis& o : c.out) axes.push_back({o.size, {}});
  std::size_t first_coupled = axes.size();
  for (const RedAxis& r : c.red) {
    if (r.coupling.out_axis < 0) {
      free_terms_ *= r.size;
      continue;
    }
    const auto at = static_cast<std::size_t>(r.coupling.out_axis);
    first_coupled = std::min(first_coupled, at);
    Axis& axis = axes[at];
    if (axis.taps.empty()) axis.taps.assign(static_cast<std::size_t>(axis.size), 1);
    for (std::int64_t o = 0; o < axis.size; ++o) axis.taps[static_cast<std::size_t>(o)] *= valid_taps(r, o);
  }
  // Planes begin after the channel axis ("m", with the groups before it), or else with the innermost axis
  // that moves; coupled axes lie within a plane.
  std::size_t inner = axes.size();  // one past the innermost axis longer than 1
  while (inner > 0 && axes[inner - 1].size == 1) --inner;
  std::size_t plane = inner > 0 ? inner - 1 : 0, after_channel = 0;
  for (std::size_t i = 0; i < c.out.size(); ++i)
    if (c.out[i].name == "m") after_channel = i + 1;
  const bool has_channels = after_channel > 0 && after_channel < inner && after_channel <= first_coupled;
  plane = std::min(has_channels ? after_channel : plane, first_coupled);
  for (std::size_t i = plane; i < axes.size(); ++i) plane_ *= axes[i].size;
  if (has_channels) {
    channels_ = axes[after_channel - 1].size;
    if (after_channel >= 2 && c.out[after_channel - 2].name == "g") channels_ *= axes[after_channel - 2].size;
    channels_per_group_ = (channels_ + kMaxChannelGroups - 1) / kMaxChannelGroups;
    channel_groups_ = static_cast<int>((channels_ + channels_per_group_ - 1) / channels_per_group_);
  }

  Axis innermost;
  for (std::size_t i = inner; i < axes.size(); ++i)
    if (!axes[i].taps.empty()) free_terms_ *= axes[i].taps[0];  // trailing axes of size 1: the same for all
  if (inner > 0) innermost = axes[inner - 1];
  axes.resize(inner > 0 ? inner - 1 : 0);
  outer_ = std::move(axes);
  inner_size_ = innermost.size;
  std::set<std::int64_t> inner_taps;
  for (std::int64_t o = 0; o < inner_size_; ++o) {
    const std::int64_t taps = innermost.taps.empty() ? 1 : innermost.taps[static_cast<std::size_t>(o)];
    if (inner_runs_.empty() || inner_runs_.back().taps != taps) inner_runs_.push_back({o, taps});
    inner_runs_.back().to = o + 1;
    inner_taps.insert(taps);
  }
  std::set<std::int64_t> products{free_terms_};
  auto times = [&products](const std::set<std::int64_t>& factors) {
    std::set<std::int64_t> next;
    for (const std::int64_t p : products)
      for (const std::int64_t f : factors) next.insert(p * f);
    products = std::move(next);
  };
  for (const Axis& axis : outer_)
    if (!axis.taps.empty()) times({axis.taps.begin(), axis.taps.end()});
  times(inner_taps);
  taps_.assign(products.begin(), products.end());
}

int StrataMap::channel_group_at(std::int64_t o) const {
  return static_cast<int>(o / plane_ % channels_ / channels_per_group_);
}

StrataMap::Run StrataMap::run_at(std::int64_t o, std::int64_t limit) const {
  if (taps_.size() == 1) return {limit, 0};
  const std::int64_t position = o % inner_size_;
  std::int64_t row = o / inner_size_, taps = free_terms_;
  for (std::size_t i = outer_.size(); i-- > 0;) {
    const std::int64_t at = row % outer_[i].size;
    row /= outer_[i].size;
    if (!outer_[i].taps.empty()) taps *= outer_[i].taps[static_cast<std::size_t>(at)];
  }
  const auto run = std::upper_bound(inner_runs_.begin(), inner_runs_.end(), position,
                                    [](std::int64_t p, const InnerRun& r) { return p < r.to; });
  taps *= run->taps;
  const auto found = std::lower_bound(taps_.begin(), taps_.end(), taps);
  return {std::min(run->to - position, limit), static_cast<int>(found - taps_.begin())};
}

std::int64_t StrataMap::terms_at(std::int64_t o) const {
  return taps_of_class(run_at(o, 1).taps_class);
}

void Strata::Maxima::raise(double e, double s) {
  error = std::max(error, e);
  scaled = std::max(scaled, s);
}

Strata::Strata(std::shared_ptr<const StrataMap> map)
    : map_(std::move(map)),
      by_taps_(static_cast<std::size_t>(map_->taps_classes())),
      by_channel_(static_cast<std::size_t>(map_->channel_groups())) {}

void Strata::count(std::int64_t begin, int n, int sign) {
  if (!by_channel_.empty())
    by_channel_[static_cast<std::size_t>(map_->channel_group_at(begin))].outputs += sign * n;
  for (int done = 0; done < n;) {
    const StrataMap::Run run = map_->run_at(begin + done, n - done);
    by_taps_[static_cast<std::size_t>(run.taps_class)].outputs += sign * run.length;
    done += static_cast<int>(run.length);
  }
}

Strata::Thresholds Strata::enter(std::int64_t begin, int n) {
  Thresholds t{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
               position_threshold_, static_cast<int>(begin % map_->plane_size() % kTile)};
  auto touch = [&t](Maxima& m, std::int64_t outputs) {
    m.outputs += outputs;
    t.error = std::min(t.error, m.error);
    t.scaled = std::min(t.scaled, m.scaled);
  };
  if (!by_channel_.empty()) touch(by_channel_[static_cast<std::size_t>(map_->channel_group_at(begin))], n);
  for (int done = 0; done < n;) {
    const StrataMap::Run run = map_->run_at(begin + done, n - done);
    touch(by_taps_[static_cast<std::size_t>(run.taps_class)], run.length);
    done += static_cast<int>(run.length);
  }
  t.scaled = threshold_below(t.scaled);
  return t;
}

void Strata::raise(std::int64_t begin, int n, const double* error, const double* scaled) {
  Maxima whole;
  for (int done = 0; done < n;) {
    const StrataMap::Run run = map_->run_at(begin + done, n - done);
    Maxima m;
    for (int i = done; i < done + run.length; ++i) m.raise(error[i], scaled[i]);
    by_taps_[static_cast<std::size_t>(run.taps_class)].raise(m.error, m.scaled);
    whole.raise(m.error, m.scaled);
    done += static_cast<int>(run.length);
  }
  if (!by_channel_.empty())
    by_channel_[static_cast<std::size_t>(map_->channel_group_at(begin))].raise(whole.error, whole.scaled);
  const auto first = static_cast<int>(begin % map_->plane_size() % kTile);
  for (int i = 0; i < n; ++i) {
    const int at = (first + i) % kTile;
    position_scaled_[at] = std::max(position_scaled_[at], scaled[i]);
  }
  for (int i = 0; i < kTile; ++i) set_threshold(i);
}

void Strata::set_threshold(int i) {
  position_threshold_[i] = position_threshold_[i + kTile] = threshold_below(position_scaled_[i]);
}

void Strata::merge(const Strata& other) {
  auto join = [](std::vector<Maxima>& mine, const std::vector<Maxima>& theirs) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i].outputs += theirs[i].outputs;
      mine[i].raise(theirs[i].error, theirs[i].scaled);
    }
  };
  join(by_taps_, other.by_taps_);
  join(by_channel_, other.by_channel_);
  for (int i = 0; i < kTile; ++i) {
    position_scaled_[i] = std::max(position_scaled_[i], other.position_scaled_[i]);
    set_threshold(i);
  }
}

nlohmann::json json_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

std::optional<double> number_of(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

nlohmann::json Strata::to_json() const {
  constexpr double kPerU = 0x1p24;  // |error| / S is kept; reports show |error| / (2^-24 S)
  nlohmann::json terms = nlohmann::json::array();
  for (std::size_t i = 0; i < by_taps_.size(); ++i)
    if (by_taps_[i].outputs > 0)
      terms.push_back({{"terms", map_->taps_of_class(static_cast<int>(i))},
                       {"outputs", by_taps_[i].outputs},
                       {"max_abs", json_number(by_taps_[i].error)},
                       {"max_scaled", json_number(by_taps_[i].scaled * kPerU)}});
  nlohmann::json channel;
  if (!by_channel_.empty()) {
    channel = {{"channels_per_group", map_->channels_per_group()},
               {"max_abs", nlohmann::json::array()},
               {"max_scaled", nlohmann::json::array()}};
    for (const Maxima& m : by_channel_) {
      channel["max_abs"].push_back(json_number(m.error));
      channel["max_scaled"].push_back(json_number(m.scaled * kPerU));
    }
  }
  nlohmann::json position = {{"modulo", kTile}, {"max_scaled", nlohmann::json::array()}};
  for (const double scaled : position_scaled_) position["max_scaled"].push_back(json_number(scaled * kPerU));
  return {{"terms", terms}, {"channel", channel}, {"position", position}};
}

}  // namespace ulpscope
