// The two seed cases as PyTorch on an H200 computed them: captures made from the recorded arrays, judged by
// the real program, against figures that this file works out by itself in long double.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "harness/capture.hpp"
#include "harness/inputs.hpp"
#include "harness/io/npz.hpp"
#include "harness/judge_capture.hpp"
#include "harness/record.hpp"

namespace ulpscope {
namespace {

struct Seed {
  const char* file;
  const char* text;  // the case; its fills are not used
  const char* x;
  const char* y;
  std::int64_t row, from, count;  // stored outputs: [from, from + count) of every row of `row` outputs
  Mode mode;
  const char* declared;  // "" for the library's undeclared plan
  Verdict verdict;
};

/// Everything the test knows of the operators: y[n=0, m, o] as a sum over channels and taps.
struct Witness {
  long double exact = 0, magnitude = 0;
};
Witness transposed(const float* x, const float* w, std::int64_t length, std::int64_t m, std::int64_t o) {
  Witness r;
  for (std::int64_t c = 0; c < 32; ++c)
    for (std::int64_t k = 0; k < 5; ++k) {
      const std::int64_t i = o - 3 * k;  // stride 1, dilation 3
      if (i < 0 || i >= length) continue;
      const long double p = static_cast<long double>(x[c * length + i]) * w[(c * 64 + m) * 5 + k];
      r.exact += p;
      r.magnitude += fabsl(p);
    }
  return r;
}
Witness pointwise(const float* x, const float* w, std::int64_t length, std::int64_t m, std::int64_t o) {
  Witness r;
  for (std::int64_t c = 0; c < 64; ++c) {
    const long double p = static_cast<long double>(x[c * length + o]) * w[m * 64 + c];
    r.exact += p;
    r.magnitude += fabsl(p);
  }
  return r;
}

class RecordedSeeds : public testing::TestWithParam<Seed> {};

TEST_P(RecordedSeeds, JudgeGivesTheFiguresOfAnIndependentComputation) {
  const Seed& seed = GetParam();
  const Npz npz(
      map_file(std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/pytorch-2.11-h200/" + seed.file));
  Capture capture;
  capture.test = parse_case(seed.text);
  capture.test.name = "seed";
  capture.variant = "pytorch";
  capture.mode = seed.mode;
  capture.executed = "recorded";
  capture.environment = nlohmann::json::object();
  capture.declared_plan = seed.declared;
  capture.a = npz.read(seed.x);
  capture.b = npz.read("w");
  capture.input_hash = inputs_from(capture.a, capture.b, {}).hash;
  const Tensor y = npz.read(seed.y);
  const std::int64_t channels = y.size() / seed.count, length = capture.a.shape.back();
  for (std::int64_t m = 0; m < channels; ++m) {
    Tensor bits = make_tensor(DType::f32, {seed.count});
    std::copy_n(y.as<float>() + m * seed.count, seed.count, bits.as<float>());
    capture.windows.push_back({m * seed.row + seed.from, bits});
  }
  if (seed.row == seed.count) {  // the output is there whole: one window
    capture.windows = {{0, make_tensor(DType::f32, {y.size()})}};
    std::copy_n(y.as<float>(), y.size(), capture.windows[0].bits.as<float>());
    capture.output_hash = hash_bytes(y.data.get(), y.view().bytes());
  }
  const std::string folder = testing::TempDir() + "ulpscope_seed_" + std::to_string(getpid());
  const std::string path = folder + "/seed.npz", record_path = folder + "/record.json";
  write_capture(path, capture);
  const std::string command = std::string("'") + ULPSCOPE_BINARY + "' judge '" + path + "' --json '" +
                              record_path + "' > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), passes(seed.verdict) ? 0 : 1);
  const nlohmann::json row = read_record(record_path).results.at(0);
  std::filesystem::remove_all(folder);

  const bool is_transposed = capture.test.problem.params.op == "conv_transpose1d";
  long double max_abs = 0, sum = 0, abs_sum = 0, max_scaled = 0, max_ulp = 0;
  std::int64_t violations = 0, n = 0;
  for (std::int64_t m = 0; m < channels; ++m)
    for (std::int64_t i = 0; i < seed.count; ++i, ++n) {
      const Witness truth = (is_transposed ? transposed : pointwise)(
          capture.a.as<float>(), capture.b.as<float>(), length, m, seed.from + i);
      const long double e = static_cast<long double>(y.as<float>()[m * seed.count + i]) - truth.exact;
      max_abs = std::max(max_abs, fabsl(e));
      sum += e;
      abs_sum += fabsl(e);
      max_scaled = std::max(max_scaled, fabsl(e) / (0x1p-24L * truth.magnitude));
      max_ulp = std::max(max_ulp, fabsl(e) / ulp_at(DType::f32, static_cast<double>(truth.exact)));
      violations += !(fabsl(e) <= 1e-4L + 1e-4L * fabsl(truth.exact));
    }
  const nlohmann::json& error = row["error"];
  auto near = [&](const char* field, long double expected, double relative) {
    EXPECT_NEAR(error[field].get<double>(), static_cast<double>(expected),
                std::fabs(static_cast<double>(expected)) * relative)
        << field;
  };
  EXPECT_EQ(row["judged_outputs"], n);
  EXPECT_EQ(row["executed"], "recorded");
  EXPECT_EQ(row["reproduce"], "ulpscope judge '" + path + "'");
  // The true value is known to 2^-34 of itself, so errors of a few ULP to about 1e-9 of themselves.
  near("max_abs", max_abs, 1e-7);
  near("mean_abs", abs_sum / n, 1e-7);
  EXPECT_NEAR(error["mean_signed"].get<double>(), static_cast<double>(sum / n),
              static_cast<double>(abs_sum / n) * 1e-7);
  near("max_scaled", max_scaled, 1e-7);
  near("max_ulp", max_ulp, 1e-6);
  EXPECT_EQ(error["violations"], violations);
  EXPECT_EQ(row["verdict"], to_string(seed.verdict)) << row["reason"];
  EXPECT_LT(error["headroom"].get<double>(), 1);
  if (*seed.declared) {
    EXPECT_EQ(row["bit_identical"], 1.0);
  }
}

constexpr const char* kPointwise =
    "conv2d 1x64x1x512 * 128x64x1x1 s1 p0 d1 g1 in=fp32 out=fp32 atol=1e-4 rtol=1e-4";
constexpr const char* kLeft =
    "conv_transpose1d 1x32x512 * 32x64x5 s1 p0 d3 g1 in=fp32 out=fp32 atol=1e-4 rtol=1e-4";
constexpr const char* kRight =
    "conv_transpose1d 1x32x536 * 32x64x5 s1 p0 d3 g1 in=fp32 out=fp32 atol=1e-4 rtol=1e-4";
// What the library really did, found before by replaying plans: an FMA chain in fp32, block steps of 8 in
// TF32.
constexpr const char* kTf32Pointwise = "tf32_rne | block 8 frac 25 rz | order c kh kw";
INSTANTIATE_TEST_SUITE_P(
    H200, RecordedSeeds,
    testing::Values(Seed{"conv2d_pointwise_uniform.npz", kPointwise, "x", "y_fp32", 512, 0, 512, Mode::fp32,
                         "", Verdict::explained},
                    Seed{"conv2d_pointwise_normal.npz", kPointwise, "x", "y_fp32", 512, 0, 512, Mode::fp32,
                         "fp32 | fma | order c kh kw", Verdict::explained},
                    Seed{"conv2d_pointwise_uniform.npz", kPointwise, "x", "y_tf32", 512, 0, 512, Mode::tf32,
                         kTf32Pointwise, Verdict::explained},
                    Seed{"conv2d_pointwise_normal.npz", kPointwise, "x", "y_tf32", 512, 0, 512, Mode::tf32,
                         "", Verdict::explained},
                    Seed{"conv_transpose1d_uniform.npz", kLeft, "x_left", "y_left_fp32", 524, 0, 512,
                         Mode::fp32, "fp32 | fma | order c kw", Verdict::explained},
                    Seed{"conv_transpose1d_normal.npz", kRight, "x_right", "y_right_fp32", 548, 36, 512,
                         Mode::fp32, "", Verdict::explained},
                    Seed{"conv_transpose1d_uniform.npz", kRight, "x_right", "y_right_tf32", 548, 36, 512,
                         Mode::tf32, "", Verdict::explained}),
    [](auto& p) { return "n" + std::to_string(p.index); });

TEST(RecordedSeeds, Tf32WhereFp32WasPromisedIsViolated) {
  const Npz npz(map_file(std::string(ULPSCOPE_SOURCE_DIR) +
                         "/reports/recorded/pytorch-2.11-h200/conv2d_pointwise_uniform.npz"));
  Capture capture;
  capture.test = parse_case(kPointwise);
  capture.variant = "pytorch";
  capture.mode = Mode::fp32;
  capture.environment = nlohmann::json::object();
  capture.declared_plan = kTf32Pointwise;
  capture.a = npz.read("x");
  capture.b = npz.read("w");
  capture.input_hash = inputs_from(capture.a, capture.b, {}).hash;
  Tensor y = npz.read("y_tf32");
  y.shape = {y.size()};
  capture.windows = {{0, y}};
  InputsCache cache;
  const Result r = judge_capture(capture, cache, ReplayChoice::all, 1);
  EXPECT_EQ(r.judgement.verdict, Verdict::violated);
  EXPECT_NE(r.judgement.reason.find("tf32_rne"), std::string::npos) << r.judgement.reason;
  EXPECT_EQ(r.evidence.effective_mode, "tf32");
}

}  // namespace
}  // namespace ulpscope
