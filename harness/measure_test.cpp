// Measurements against an independent, slow computation in long double, order-freedom, and the comparator
// against mutants: each of them must be seen, and none may pass by a NaN that fails every comparison.
#include "harness/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace ulpscope {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A convolution-like contraction whose rows have edges: terms 2, 3, 3, ..., 3, 2 times 4 channels.
Contraction edged(std::int64_t n, std::int64_t m, std::int64_t h, std::int64_t w) {
  Contraction c;
  c.out = {{"n", n, 0, 0, 0}, {"g", 1, 0, 0, 0}, {"m", m, 0, 0, 0}, {"oh", h, 0, 0, 0}, {"ow", w, 0, 0, 0}};
  c.out_shape = {n, m, h, w};
  RedAxis kw{"kw", 3, 0, 0, {}};
  kw.coupling = {4, 1, 1, -1, 1, w, 1};
  c.red = {{"c", 4, 0, 0, {}}, kw};
  return c;
}

struct Sample {
  DType type = DType::f32;
  std::vector<double> value, magnitude;
  std::vector<std::uint32_t> bits, rounded;

  std::int64_t size() const { return static_cast<std::int64_t>(value.size()); }
  double candidate(std::int64_t i) const { return value_of_bits(type, bits[static_cast<std::size_t>(i)]); }
  std::vector<std::uint16_t> halves() const { return {bits.begin(), bits.end()}; }
};

/// True values of either sign, candidates a few ULP off.
Sample make_sample(DType type, std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Sample s;
  s.type = type;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x =
        std::ldexp(static_cast<double>(rng() >> 11) * 0x1p-53 + 1e-3, static_cast<int>(rng() % 6) - 3);
    s.value.push_back(rng() & 1 ? x : -x);
    s.magnitude.push_back(std::fabs(s.value.back()) * (1 + static_cast<double>(rng() % 1000)));
    s.rounded.push_back(static_cast<std::uint32_t>(round_to_bits(type, s.value.back())));
    s.bits.push_back(s.rounded.back() + static_cast<std::uint32_t>(rng() % 7) - (rng() & 1 ? 3 : 0));
  }
  return s;
}

Measurement measured(const Contraction& c, const Sample& s, const MeasureSetup& setup, std::int64_t begin = 0,
                     int threads = 1) {
  const std::vector<std::uint16_t> halves = s.halves();
  const void* data = s.type == DType::f32 ? static_cast<const void*>(s.bits.data()) : halves.data();
  return measure(c, setup, begin, s.size(), data, s.value.data(), s.magnitude.data(), s.rounded.data(),
                 threads);
}

MeasureSetup setup_of(DType type) {
  return {type, {100 * 0x1p-24, 1e-30, 1e30, ""}, Tolerance{1e-7, 1e-7}, 1 << 13};
}

class Formats : public testing::TestWithParam<DType> {};

TEST_P(Formats, FiguresAgreeWithAnIndependentComputation) {
  const DType type = GetParam();
  const Contraction c = edged(2, 3, 5, 70);
  Sample s = make_sample(type, c.outputs(), 3);
  s.bits[17] =
      static_cast<std::uint32_t>(round_to_bits(type, kInf));  // non-finite: left out of maxima, counted
  s.bits[1000] = static_cast<std::uint32_t>(round_to_bits(type, -kInf));
  const MeasureSetup setup = setup_of(type);
  const Measurement m = measured(c, s, setup);

  long double sum = 0, abs_sum = 0, max_abs = 0, max_scaled = 0, max_ulp = 0, headroom = 0;
  std::int64_t equal = 0, violations = 0, beyond = 0, finite = 0, worst = -1;
  std::vector<long double> ulps;
  for (std::int64_t i = 0; i < s.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const long double e = static_cast<long double>(s.candidate(i)) - static_cast<long double>(s.value[at]);
    violations += !(fabsl(e) <= setup.tolerance->atol + setup.tolerance->rtol * fabsl(s.value[at]));
    equal += s.bits[at] == s.rounded[at];
    if (!std::isfinite(static_cast<double>(e))) {
      ++beyond;
      continue;
    }
    ++finite;
    sum += e;
    abs_sum += fabsl(e);
    max_abs = std::max(max_abs, fabsl(e));
    const long double scaled = fabsl(e) / (0x1p-24L * s.magnitude[at]);
    if (scaled > max_scaled) worst = i;
    max_scaled = std::max(max_scaled, scaled);
    ulps.push_back(fabsl(e) / ulp_at(type, s.value[at]));
    max_ulp = std::max(max_ulp, ulps.back());
    const long double bound = setup.bound.per_s * s.magnitude[at] + setup.bound.absolute;
    headroom = std::max(headroom, fabsl(e) / bound);
    beyond += fabsl(e) > bound;
  }
  EXPECT_EQ(m.outputs, s.size());
  EXPECT_EQ(m.finite_pairs, finite);
  EXPECT_EQ(m.nonfinite, 2);
  EXPECT_EQ(m.nonfinite_mismatch, 2);
  EXPECT_EQ(m.equal_bits, equal);
  EXPECT_EQ(m.violations, violations);
  EXPECT_EQ(m.beyond_bound, beyond);
  EXPECT_EQ(m.worst.index, worst);
  EXPECT_EQ(m.worst.terms, worst % 70 == 0 || worst % 70 == 69 ? 8 : 12);
  EXPECT_EQ(m.worst.coordinates,
            (std::vector<std::int64_t>{worst / 1050, worst / 350 % 3, worst / 70 % 5, worst % 70}));
  auto near = [](double x, long double y, const char* what) {
    EXPECT_NEAR(x, static_cast<double>(y), std::fabs(static_cast<double>(y)) * 1e-12) << what;
  };
  near(m.max_abs, max_abs, "max_abs");
  const double quantum = std::ldexp(setup.magnitude_limit, -60);  // errors are summed in whole quanta
  EXPECT_NEAR(m.mean_abs, static_cast<double>(abs_sum / finite), quantum / 2);
  EXPECT_NEAR(m.mean_signed, static_cast<double>(sum / finite), quantum / 2);
  MeasureSetup exactly = setup;
  exactly.magnitude_limit = 0;
  const Measurement exact_means = measured(c, s, exactly);
  near(exact_means.mean_abs, abs_sum / finite, "mean_abs");
  EXPECT_NEAR(exact_means.mean_signed, static_cast<double>(sum / finite), m.mean_abs * 1e-14);
  near(m.max_ulp, max_ulp, "max_ulp");
  near(m.max_scaled, max_scaled, "max_scaled");
  near(m.headroom, headroom, "headroom");
  near(m.bound,
       setup.bound.per_s * *std::max_element(s.magnitude.begin(), s.magnitude.end()) + setup.bound.absolute,
       "bound");
  std::sort(ulps.begin(), ulps.end());
  auto percentile = [&](long double p) { return ulps[static_cast<std::size_t>(ceill(p * ulps.size())) - 1]; };
  for (auto [bin, p] : {std::pair{m.p50_ulp, 0.5L}, {m.p99_ulp, 0.99L}, {m.p999_ulp, 0.999L}}) {
    EXPECT_GE(bin, static_cast<double>(percentile(p)));
    EXPECT_LE(bin, static_cast<double>(percentile(p)) * (1 + 1.0 / 64) + 0x1p-20);
  }
}

TEST_P(Formats, SameFiguresForAnySplitOrderAndNumberOfThreads) {
  const DType type = GetParam();
  const Contraction c = edged(2, 3, 50, 131);
  Sample s = make_sample(type, c.outputs(), 5);
  s.bits[777] = static_cast<std::uint32_t>(round_to_bits(type, kInf));
  s.bits[4242] ^= type == DType::f32 ? 0x40000000u : 0x4000u;  // far off: summed exactly, not in quanta
  const std::vector<std::uint16_t> halves = s.halves();
  const MeasureSetup setup = setup_of(type);
  const auto map = std::make_shared<const StrataMap>(c);
  auto text = [&](const Measurement& m) {
    return nlohmann::json{m.outputs,      m.finite_pairs,      m.nonfinite,  m.equal_bits,  m.max_abs_index,
                          m.worst.index,  m.max_abs,           m.mean_abs,   m.mean_signed, m.max_ulp,
                          m.p50_ulp,      m.p999_ulp,          m.max_scaled, m.headroom,    m.bound,
                          m.beyond_bound, m.unbounded,         m.violations, m.strata,      m.ulp_histogram,
                          m.worst.exact,  m.zero_sign_mismatch}
        .dump();
  };
  const std::string whole = text(measured(c, s, setup, 0, 1));
  EXPECT_EQ(text(measured(c, s, setup, 0, 4)), whole);
  std::mt19937_64 rng(1);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::int64_t> cuts{0, s.size()};
    for (int i = 0; i < 20; ++i) cuts.push_back(static_cast<std::int64_t>(rng()) % s.size() & 0x7fffffff);
    for (auto& cut : cuts) cut = std::min(cut, s.size());
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::size_t> order(cuts.size() - 1);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), rng);
    std::vector<Measurer> parts(3, Measurer(map, setup));
    for (const std::size_t i : order) {
      const auto from = static_cast<std::size_t>(cuts[i]);
      const void* data =
          type == DType::f32 ? static_cast<const void*>(s.bits.data() + from) : halves.data() + from;
      parts[rng() % 3].add(cuts[i], cuts[i + 1] - cuts[i], data, &s.value[0] + from, &s.magnitude[0] + from,
                           &s.rounded[0] + from);
    }
    parts[2].merge(parts[0]);
    parts[2].merge(parts[1]);
    EXPECT_EQ(text(parts[2].result(c.out_shape)), whole) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](auto& p) { return name_of(p.param); });

// ---- mutants: one element of a correct result is changed
// ---------------------------------------------------

struct Mutant {
  const char* name;
  double truth;
  float made;  // what the candidate holds instead of the rounded truth
  // what must be seen
  std::int64_t nonfinite, nonfinite_mismatch, zero_sign, beyond;
  double abs;
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreSeenWhereverTheyStand) {
  const Mutant& mutant = GetParam();
  const Contraction c = edged(1, 1, 3, 700);
  for (const std::int64_t place : {std::int64_t{0}, std::int64_t{513}, std::int64_t{1031}, c.outputs() - 1}) {
    Sample s;
    for (std::int64_t i = 0; i < c.outputs(); ++i) {
      s.value.push_back(i == place ? mutant.truth : 0.5);
      s.magnitude.push_back(std::isfinite(mutant.truth) ? std::fabs(s.value.back()) : kInf);
      s.rounded.push_back(static_cast<std::uint32_t>(round_to_bits(DType::f32, s.value.back())));
      s.bits.push_back(s.rounded.back());
    }
    s.bits[static_cast<std::size_t>(place)] = std::bit_cast<std::uint32_t>(mutant.made);
    MeasureSetup setup = setup_of(DType::f32);
    setup.bound = {0x1p-24, 0x1p-150, kInf, ""};  // one rounding: what a correct result keeps
    const Measurement m = measured(c, s, setup);
    EXPECT_EQ(m.equal_bits, m.outputs - 1) << mutant.name << " at " << place;
    EXPECT_EQ(m.nonfinite, mutant.nonfinite) << mutant.name;
    EXPECT_EQ(m.nonfinite_mismatch, mutant.nonfinite_mismatch) << mutant.name;
    EXPECT_EQ(m.zero_sign_mismatch, mutant.zero_sign) << mutant.name;
    EXPECT_EQ(m.beyond_bound, mutant.beyond) << mutant.name;
    EXPECT_EQ(m.max_abs, mutant.abs) << mutant.name;
    EXPECT_EQ(m.max_abs_index, mutant.abs > 0 ? place : -1) << mutant.name;
    // NaN never passes a tolerance.
    if (std::isfinite(mutant.truth)) {
      EXPECT_GE(m.violations, mutant.nonfinite_mismatch) << mutant.name;
    }
  }
}

constexpr float kMax = std::numeric_limits<float>::max(), kTiny = 0x1p-149f;
INSTANTIATE_TEST_SUITE_P(
    All, Mutants,
    testing::Values(Mutant{"minus_zero", 0.0, -0.0f, 0, 0, 1, 0, 0},
                    Mutant{"plus_zero", -0.0, 0.0f, 0, 0, 1, 0, 0}, Mutant{"nan", 0.5, kNan, 1, 1, 0, 1, 0},
                    Mutant{"negative_nan", 0.5, -kNan, 1, 1, 0, 1, 0},
                    Mutant{"nan_payload", std::numeric_limits<double>::quiet_NaN(),
                           std::bit_cast<float>(0x7fc00001u), 1, 0, 0, 0, 0},
                    Mutant{"number_for_nan", std::numeric_limits<double>::quiet_NaN(), 1.0f, 1, 1, 0, 1, 0},
                    Mutant{"poison", 0.5, std::bit_cast<float>(0x7fa5c3e1u), 1, 1, 0, 1, 0},
                    Mutant{"last_bit", 0.75, std::bit_cast<float>(0x3f400001u), 0, 0, 0, 1, 0x1p-24},
                    Mutant{"sign_bit", 0.75, -0.75f, 0, 0, 0, 1, 1.5},
                    Mutant{"exponent_bit", 0.75, 1.5f, 0, 0, 0, 1, 0.75},
                    Mutant{"above_a_binade", 1.0, 1.0f + 0x1p-23f, 0, 0, 0, 1, 0x1p-23},
                    Mutant{"below_a_binade", 1.0, 1.0f - 0x1p-24f, 0, 0, 0, 0, 0x1p-24},
                    Mutant{"subnormal_neighbour", 0x1p-130, 0x1p-130f + kTiny, 0, 0, 0, 1, kTiny},
                    Mutant{"subnormal_flushed", 0x1p-130, 0.0f, 0, 0, 0, 1, 0x1p-130},
                    Mutant{"infinity_for_max", kMax, std::numeric_limits<float>::infinity(), 1, 1, 0, 1, 0},
                    Mutant{"max_for_infinity", kInf, kMax, 1, 1, 0, 1, 0},
                    Mutant{"other_infinity", kInf, -std::numeric_limits<float>::infinity(), 1, 1, 0, 1, 0},
                    Mutant{"max_where_overflow_is_due", 1e39, kMax, 0, 0, 0, 1, 1e39 - kMax}),
    [](auto& p) { return p.param.name; });

TEST(Measure, OneWrongElementInMillionsIsFoundAndNamed) {
  const Contraction c = edged(1, 4, 1024, 1024);
  Sample s;
  s.value.assign(static_cast<std::size_t>(c.outputs()), 0.5);
  s.magnitude.assign(s.value.size(), 1.0);
  s.rounded.assign(s.value.size(), 0x3f000000u);
  s.bits = s.rounded;
  s.bits[3'141'592] = 0x3f000002u;
  s.bits[3'999'999] = 0x3f000002u;  // the same error: the first index is named
  const Measurement m = measured(c, s, setup_of(DType::f32), 0, 2);
  EXPECT_EQ(m.outputs - m.equal_bits, 2);
  EXPECT_EQ(m.max_abs, 0x1p-23);
  EXPECT_EQ(m.max_abs_index, 3'141'592);
  EXPECT_EQ(m.worst.index, 3'141'592);
  EXPECT_EQ(m.worst.coordinates, (std::vector<std::int64_t>{0, 2, 1019, 984}));
  EXPECT_EQ(m.p999_ulp, 0);  // percentiles are blind to it: that is why maxima decide
  EXPECT_DOUBLE_EQ(m.mean_abs, 0x1p-22 / static_cast<double>(m.outputs));
}

TEST(Measure, AMissingLastElementIsSeen) {  // a lost tail leaves whatever was there: the poison of the buffer
  const Contraction c = edged(1, 1, 1, 515);
  Sample s = make_sample(DType::f32, 515, 1);
  s.bits = s.rounded;
  EXPECT_EQ(measured(c, s, setup_of(DType::f32)).equal_bits, 515);
  s.bits.back() = 0x7fa5c3e1u;
  const Measurement m = measured(c, s, setup_of(DType::f32));
  EXPECT_EQ(m.equal_bits, 514);
  EXPECT_EQ(m.nonfinite_mismatch, 1);
  EXPECT_EQ(m.beyond_bound, 1);
}

TEST(Measure, WhereOverflowCannotBeExcludedNothingIsClaimed) {
  const Contraction c = edged(1, 1, 1, 4);
  Sample s;
  s.value = {1e38, 1e38, 1, 1};
  s.magnitude = {1e39, 1e39, 2, 2};
  for (const double v : s.value)
    s.rounded.push_back(static_cast<std::uint32_t>(round_to_bits(DType::f32, v)));
  s.bits = s.rounded;
  s.bits[0] = 0x7f800000u;  // a partial sum may have overflowed
  s.bits[2] = 0x7f800000u;  // here it cannot
  const Measurement m = measured(c, s, setup_of(DType::f32));
  EXPECT_EQ(m.unbounded, 2);
  EXPECT_EQ(m.beyond_bound, 1);
  EXPECT_EQ(m.bound, kInf);
}

TEST(Measure, AnErrorWhereNoTermsAreIsInfiniteInScale) {
  const Contraction c = edged(1, 1, 1, 3);
  Sample s;
  s.value = {0, 0, 0};
  s.magnitude = {0, 0, 0};
  s.rounded = {0, 0, 0};
  s.bits = {0, 0x80000000u, 1};
  const Measurement m = measured(c, s, setup_of(DType::f32));
  EXPECT_EQ(m.max_scaled, kInf);
  EXPECT_EQ(m.worst.index, 2);
  EXPECT_EQ(m.worst.ulp, 1);  // in units of the smallest subnormal, marked by exact = 0
  EXPECT_EQ(m.worst.exact, 0);
  EXPECT_EQ(m.zero_sign_mismatch, 1);
  EXPECT_EQ(m.max_ulp, 1);
}

TEST(Measure, StrataNameEdgesChannelsAndPositions) {
  const Contraction c = edged(2, 3, 4, 130);
  Sample s = make_sample(DType::f32, c.outputs(), 9);
  s.bits = s.rounded;
  for (auto& v : s.value) v = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(v)));
  for (std::size_t i = 0; i < s.value.size(); ++i) s.value[i] = s.candidate(static_cast<std::int64_t>(i));
  // Wrong by one bit: the last column (8 terms) of channel 1, row 2, image 1.
  const std::int64_t wrong = ((1 * 3 + 1) * 4 + 2) * 130 + 129;
  s.bits[static_cast<std::size_t>(wrong)] ^= 1;
  const nlohmann::json strata = measured(c, s, setup_of(DType::f32)).strata;
  ASSERT_EQ(strata["terms"].size(), 2u);
  EXPECT_EQ(strata["terms"][0]["terms"], 8);
  EXPECT_EQ(strata["terms"][0]["outputs"], 2 * 3 * 4 * 2);
  EXPECT_GT(strata["terms"][0]["max_abs"], 0);
  EXPECT_EQ(strata["terms"][1]["max_abs"], 0);
  EXPECT_EQ(strata["channel"]["max_abs"][0], 0);
  EXPECT_GT(strata["channel"]["max_abs"][1], 0);
  EXPECT_EQ(strata["channel"]["max_abs"][2], 0);
  const std::int64_t position = (2 * 130 + 129) % kTile;  // in the plane of the channel
  for (int i = 0; i < kTile; ++i)
    EXPECT_EQ(strata["position"]["max_scaled"][static_cast<std::size_t>(i)] > 0, i == position) << i;
}

TEST(Measure, RefusesFp64Results) {
  EXPECT_THROW(Measurer(std::make_shared<const StrataMap>(edged(1, 1, 1, 1)), setup_of(DType::f64)),
               std::exception);
}

TEST(MeasureKernels, BothInstructionSetsGiveTheSameBits) {
  if (!__builtin_cpu_supports("x86-64-v3")) GTEST_SKIP() << "no AVX2 here";
  const Sample s = make_sample(DType::f32, 500, 21);
  std::vector<float> c;
  for (std::int64_t i = 0; i < s.size(); ++i) c.push_back(static_cast<float>(s.candidate(i)));
  const MeasureScale scale{0x1p-126, 24, 0x80000000u, 1e-6, 0, 1e30, 1e-7, 1e-7, 0x1.8p0};
  const double thresholds[2 * kTile] = {};
  for (const int n : {1, 7, 8, 64, 499}) {
    const BlockInput in{c.data(), s.bits.data(), s.rounded.data(), s.value.data(), s.magnitude.data(), n};
    BlockScan x{}, y{};
    simd_base::scan_block(scale, in, thresholds, 13, 0, x);
    simd_v3::scan_block(scale, in, thresholds, 13, 0, y);
    EXPECT_EQ(
        std::tie(x.sum, x.sum_abs, x.max_abs, x.max_magnitude, x.max_ulp_high, x.equal_bits, x.no_error),
        std::tie(y.sum, y.sum_abs, y.max_abs, y.max_magnitude, y.max_ulp_high, y.equal_bits, y.no_error));
    EXPECT_TRUE(std::equal(x.bin, x.bin + n, y.bin));
    BlockDetail p{}, q{};
    simd_base::detail_block(scale, in, p);
    simd_v3::detail_block(scale, in, q);
    EXPECT_EQ(std::tie(p.max_ulp, p.max_headroom, p.beyond_bound, p.unbounded),
              std::tie(q.max_ulp, q.max_headroom, q.beyond_bound, q.unbounded));
    EXPECT_TRUE(std::equal(p.scaled, p.scaled + n, q.scaled));
    EXPECT_EQ(simd_base::count_violations(scale, in), simd_v3::count_violations(scale, in));
  }
  std::uint16_t all[1024];
  float f[2][1024];
  std::uint32_t wide[1024];
  for (int block = 0; block < 64; ++block) {  // every 16-bit pattern, against the conversion table of formats
    for (int i = 0; i < 1024; ++i) all[i] = static_cast<std::uint16_t>(block * 1024 + i);
    simd_base::decode_fp16(all, 1024, f[0], wide);
    simd_v3::decode_fp16(all, 1024, f[1], wide);
    for (int i = 0; i < 1024; ++i) {
      const double expected = value_of_bits(DType::f16, all[i]);
      for (auto& decoded : f)
        EXPECT_TRUE(decoded[i] == expected || (std::isnan(decoded[i]) && std::isnan(expected))) << all[i];
      EXPECT_EQ(wide[i], all[i]);
    }
    simd_v3::decode_bf16(all, 1024, f[1], wide);
    for (int i = 0; i < 1024; ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(f[1][i]), static_cast<std::uint32_t>(all[i]) << 16);
  }
}

TEST(PairMeasurer, ComparesTwoResults) {
  const Contraction c = edged(1, 1, 1, 6);
  const std::vector<float> candidate{1, 2, 3, kNan, 5, -0.0f}, reference{1, 2.5f, 3, 4, 5.125f, 0.0f};
  PairMeasurer pair(std::make_shared<const StrataMap>(c), DType::f32, DType::f32, Tolerance{0.01, 0.1});
  pair.add(0, 6, candidate.data(), reference.data());
  const PairMeasurement m = pair.result();
  EXPECT_EQ(m.equal_bits, 2);
  EXPECT_EQ(m.nonfinite, 1);
  EXPECT_EQ(m.zero_sign_mismatch, 1);
  EXPECT_EQ(m.violations, 2);  // 0.5 > 0.01 + 0.25, and the NaN
  EXPECT_EQ(m.max_abs, 0.5);
  EXPECT_EQ(m.max_abs_index, 1);
  EXPECT_DOUBLE_EQ(m.mean_signed, -0.625 / 5);
  EXPECT_DOUBLE_EQ(m.mean_abs, 0.625 / 5);

  // bf16 against fp32: as values
  const std::vector<std::uint16_t> halves{0x3f80, 0x4000};
  PairMeasurer mixed(std::make_shared<const StrataMap>(c), DType::bf16, DType::f32, {});
  mixed.add(0, 2, halves.data(), reference.data());
  EXPECT_EQ(mixed.result().equal_bits, 1);
  EXPECT_EQ(mixed.result().max_abs, 0.5);
}

}  // namespace
}  // namespace ulpscope
