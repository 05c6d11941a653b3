// Layers of PyTorch on an H200, dumped by a few lines of Python and explained from the command line: every
// result ends with the plan that gives all its bits, and weights that were rounded before the dump are found.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli.hpp"

namespace ulpscope {
namespace {

struct Layer {
  const char *file, *op;
  std::vector<std::string> options;
  bool bias = false;

  std::string array(const std::string& name) const {
    return std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/pytorch-layers-h200/" + file +
           ".npz:" + name;
  }
};

const Layer kSeed{"ct1d_seed", "conv_transpose1d", {"--dilation", "3"}};
const Layer kTransposed{"ct1d_bias", "conv_transpose1d", {"--stride", "2", "--padding", "1"}, true};
const Layer kConv{"conv2d_3x3", "conv2d", {"--padding", "1"}};
const Layer kLinear{"linear", "linear", {}};
const Layer kWide{"linear_wide_bf16", "linear", {}};
const Layer kMatmul{"matmul_33x65x100", "gemm", {}};

/// Explains results of the layer, given its input `x` + input and its weight (and bias) `w` + weight.
nlohmann::json ask(const Layer& layer, const std::string& input, const std::string& weight,
                   std::vector<std::string> more) {
  std::vector<std::string> words{"ulpscope",  "explain",
                                 "--op",      layer.op,
                                 "--input",   layer.array("x" + input),
                                 "--weight",  layer.array("w" + weight),
                                 "--threads", "2",
                                 "--json",    "-"};
  if (layer.bias) words.insert(words.end(), {"--bias", layer.array("bias" + weight)});
  words.insert(words.end(), layer.options.begin(), layer.options.end());
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  ::testing::internal::CaptureStdout();
  const int code = run_cli(static_cast<int>(argv.size()), argv.data());
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_LE(code, 1) << layer.file;
  return nlohmann::json::parse(out);
}

nlohmann::json pair_of(const Layer& layer) {
  return ask(layer, "", "", {"--candidate", layer.array("y_fp32"), "--reference", layer.array("y_tf32")});
}

void expect_side(const nlohmann::json& side, const std::string& verdict, const std::string& plan) {
  EXPECT_EQ(side["verdict"], verdict) << side["name"] << side["why"];
  EXPECT_EQ(side["plan"], plan) << side["name"];
  EXPECT_EQ(side["bit_identical"], 1.0) << side["name"];
}

// With TF32 allowed, cuBLAS used it: the reference is less accurate, whatever the shape.
TEST(RecordedLayers, Tf32ReferenceIsTheCauseWithBothPlans) {
  const struct {
    const Layer& layer;
    const char *fp32, *tf32;
  } seen[] = {
      {kLinear, "fp32 | fma | chunks 68 seq", "tf32_rne | block 8 frac 25 rz"},
      {kMatmul, "fp32 | fma | chunks 28 seq", "tf32_rne | block 8 frac 25 rz"},
  };
  for (const auto& s : seen) {
    const nlohmann::json j = pair_of(s.layer);
    EXPECT_EQ(j["cause"], "reference_precision") << s.layer.file;
    expect_side(j["candidate"], "explained", s.fp32);
    expect_side(j["reference"], "explained", s.tf32);
    EXPECT_GT(j["reference"]["mean_abs"].get<double>(), 50 * j["candidate"]["mean_abs"].get<double>());
  }
}

// Allowed is not used: these two convolutions ran in fp32 either way, bit for bit.
TEST(RecordedLayers, Tf32AllowedButUnusedIsNoDifference) {
  for (const Layer* layer : {&kTransposed, &kConv}) {
    const nlohmann::json j = pair_of(*layer);
    EXPECT_EQ(j["cause"], "none") << layer->file;
    expect_side(j["candidate"], "identical", "fp32 | fma");
    expect_side(j["reference"], "explained", "fp32 | fma");
  }
}

TEST(RecordedLayers, SixteenBitResultsAreReplayedToTheBit) {
  const struct {
    const Layer& layer;
    const char *type, *verdict, *plan;
  } seen[] = {
      {kTransposed, "bf16", "explained", "bf16 | block 16 frac 25 rz | lanes 2 seq as bf16 | out bf16"},
      {kConv, "bf16", "explained", "bf16 | block 16 frac 25 rz | order c/32 kh kw c | out bf16"},
      {kTransposed, "fp16", "explained",
       "fp16 | block 16 frac 25 rz | order c/32 kw c | lanes 2 every 32 seq as fp16 | out fp16"},
      {kConv, "fp16", "explained", "fp16 | block 16 frac 25 rz | order c/32 kh kw c | out fp16"},
      // One output of 512 tells it from the exact result: 4096 terms, cut at 1408.
      {kWide, "bf16", "explained", "bf16 | block 16 frac 25 rz | chunks 1408 seq | out bf16"},
      {kLinear, "bf16", "identical", "bf16 | block 16 frac 25 rz | out bf16"},
      {kLinear, "fp16", "explained", "fp16 | block 16 frac 25 rz | residue 16 | out fp16"},
      {kMatmul, "bf16", "explained", "bf16 | block 8 frac 25 rz | out bf16"},
      {kMatmul, "fp16", "explained", "fp16 | block 16 frac 25 rz | out fp16"},
  };
  for (const auto& s : seen) {
    const std::string suffix = std::string("_") + s.type;
    const nlohmann::json j = ask(s.layer, suffix, suffix,
                                 {"--candidate", s.layer.array("y" + suffix), "--candidate-dtype", s.type});
    EXPECT_EQ(j["cause"], std::string(s.verdict) == "identical" ? "none" : "accumulator");
    expect_side(j["candidate"], s.verdict, s.plan);
  }
}

// Each tap's products are summed by themselves, and the five sums added as they come: two calls differ.
TEST(RecordedLayers, AtomicsAreOnePlanInNoFixedOrder) {
  const nlohmann::json j = ask(kSeed, "", "", {"--candidate", kSeed.array("y_fp32")});
  EXPECT_EQ(j["cause"], "nondeterminism");
  EXPECT_EQ(j["candidate"]["verdict"], "bounded");
  EXPECT_EQ(j["candidate"]["unordered_plan"], "fp32 | fma | order kw c | chunks 32 unordered");
  EXPECT_TRUE(j["candidate"]["plan"].is_null());
}

// What a dump holds if m.to(torch.bfloat16) rounds m.weight before it is saved.
TEST(RecordedLayers, WeightsRoundedBeforeTheDumpAreOtherInputs) {
  const nlohmann::json j =
      ask(kTransposed, "", "_bf16", {"--candidate", kTransposed.array("y_fp32"), "--seconds", "0"});
  EXPECT_EQ(j["cause"], "inputs_differ");
  ASSERT_FALSE(j["candidate"]["mistake"].is_null());
  EXPECT_EQ(j["candidate"]["mistake"]["name"], "rounded_weights");
  EXPECT_NE(j["summary"].get<std::string>().find("rounded to bf16"), std::string::npos) << j["summary"];
  // Too few rows to solve for a weight: told by what is left over.
  const nlohmann::json few =
      ask(kLinear, "", "_bf16", {"--candidate", kLinear.array("y_fp32"), "--seconds", "0"});
  EXPECT_EQ(few["cause"], "inputs_differ") << few["summary"];
  ASSERT_FALSE(few["candidate"]["mistake"].is_null());
  EXPECT_EQ(few["candidate"]["mistake"]["name"], "rounded_weights");
}

}  // namespace
}  // namespace ulpscope
