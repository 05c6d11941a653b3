#include "kernels/vendor/engine_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ulpscope::vendor {
namespace {

constexpr Mode kAll[] = {Mode::fp32, Mode::tf32, Mode::strict};

TEST(EngineChoice, TensorCoresOnlyWhereOperandsMayBeShortened) {
  EngineNotes n;
  n.tensor_core = true;
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::f32, Mode::fp32), "TENSOR_CORE");
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::f32, Mode::strict), "TENSOR_CORE");
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::f32, Mode::tf32), "");
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::bf16, Mode::bf16), "");
}

TEST(EngineChoice, DownConversionAndShortSumsKeepNoPromise) {
  for (const Mode mode : kAll) {
    EngineNotes n;
    n.down_convert_inputs = true;
    EXPECT_NE(refusal(n, EngineFamily::direct, DType::f32, mode), "");
    EngineNotes r;
    r.reduced_precision_sum = true;
    EXPECT_NE(refusal(r, EngineFamily::direct, DType::f32, mode), "");
  }
  EngineNotes n;
  n.down_convert_inputs = true;
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::f32, Mode::fp16), "");
  EXPECT_NE(refusal(EngineNotes{}, EngineFamily::direct, DType::f32, Mode::fp16), "");
}

TEST(EngineChoice, TransformsOnlyByName) {
  for (const Mode mode : kAll) {
    EngineNotes w, f;
    w.winograd = true;
    f.fft = true;
    EXPECT_NE(refusal(w, EngineFamily::direct, DType::f32, mode), "");
    EXPECT_NE(refusal(f, EngineFamily::direct, DType::f32, mode), "");
    EXPECT_EQ(refusal(w, EngineFamily::winograd, DType::f32, mode), "");
    EXPECT_EQ(refusal(f, EngineFamily::fft, DType::f32, mode), "");
    EXPECT_NE(refusal(f, EngineFamily::winograd, DType::f32, mode), "");
    EXPECT_NE(refusal(EngineNotes{}, EngineFamily::fft, DType::f32, mode), "");
  }
}

TEST(EngineChoice, OnlyStrictRefusesNondeterminism) {
  EngineNotes n;
  n.nondeterministic = true;
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::f32, Mode::fp32), "");
  EXPECT_EQ(refusal(n, EngineFamily::direct, DType::f32, Mode::strict), "NONDETERMINISTIC");
}

TEST(EngineChoice, SixteenBitDataHaveTheirOwnMode) {
  EXPECT_EQ(mode_mismatch(DType::bf16, DType::bf16, Mode::bf16), "");
  EXPECT_EQ(mode_mismatch(DType::f16, DType::f32, Mode::fp16), "");
  EXPECT_NE(mode_mismatch(DType::bf16, DType::bf16, Mode::fp32), "");
  EXPECT_NE(mode_mismatch(DType::bf16, DType::f16, Mode::bf16), "");
  EXPECT_NE(mode_mismatch(DType::f64, DType::f64, Mode::strict), "");
  EXPECT_NE(mode_mismatch(DType::f32, DType::bf16, Mode::tf32), "");
  for (const Mode mode : kAll) EXPECT_EQ(mode_mismatch(DType::f32, DType::f32, mode), "");
}

TEST(EngineChoice, ATransformIsSeenByWhatIsNoCopy) {
  const std::vector<float> products{1.25f, 1.0f, 1.75f};
  auto copies = [&](std::vector<float> seen) {
    const auto n = static_cast<std::int64_t>(seen.size());
    return only_copies(products, {seen.data(), DType::f32, {n}});
  };
  EXPECT_TRUE(copies({0, 1.75f, -0.0f, 1.25f, 1.25f, 1}));
  EXPECT_TRUE(copies({}));
  EXPECT_FALSE(copies({0, 1.75f, std::nextafter(1.25f, 2.0f)}));
  EXPECT_FALSE(copies({1, 0x1p-30f}));  // what an FFT leaves where nothing should be
  EXPECT_FALSE(copies({NAN}));
  EXPECT_FALSE(copies({-1.25f}));
  // bf16 results of an fp32 operand
  const std::uint16_t narrow[] = {0x3fa0, 0x0000};  // 1.25, 0
  EXPECT_TRUE(only_copies(products, {narrow, DType::bf16, {2}}));
}

}  // namespace
}  // namespace ulpscope::vendor
