// The CUDA executor against planted faults. Built wherever CUDA is, skips itself where there is no GPU.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <bit>

#include "kernels/support/device_info.hpp"
#include "kernels/support/executor.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kCount = 1000;

class CudaExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    executor = make_executor(Where::cuda, reason);
    if (!executor) GTEST_SKIP() << reason;
    contraction.out.push_back({"i", kCount});
    contraction.out_shape = {kCount};
    args.contraction = &contraction;
    values.assign(kCount, 1.5f);
    operands.a = {values.data(), DType::f32, {kCount}};
    executor->set_inputs(operands);
  }

  // A variant that copies its first operand, then does something wrong.
  Variant copying(std::function<void(char* out, cudaStream_t, int run)> wrong, std::int64_t count = kCount) {
    Variant v;
    v.name = "planted";
    v.where = Where::cuda;
    auto run = std::make_shared<int>(0);
    v.launch = [=](const LaunchArgs& x) {
      auto stream = static_cast<cudaStream_t>(x.stream);
      cudaMemcpyAsync(x.out, x.a, static_cast<std::size_t>(count) * 4, cudaMemcpyDeviceToDevice, stream);
      if (wrong) wrong(static_cast<char*>(x.out), stream, (*run)++);
      return LaunchNotes{};
    };
    return v;
  }

  std::unique_ptr<Executor> executor;
  Contraction contraction;
  LaunchArgs args;
  Operands operands;
  std::vector<float> values;
};

TEST_F(CudaExecutorTest, CleanRunHasNoFindings) {
  const Execution e = executor->execute(copying(nullptr), args);
  EXPECT_EQ(e.differing, 0);
  EXPECT_EQ(e.unwritten, 0);
  EXPECT_TRUE(e.guards_intact);
  EXPECT_GT(e.device_ms, 0);
  executor->start_copy(0, {e.output}, {10, 1, 5, 0});
  const auto parts = executor->finish_copy(0);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(static_cast<const float*>(parts[0])[4], 1.5f);
  EXPECT_THROW(executor->start_copy(0, {e.output}, {kCount - 2, 1, 3, 0}), Error);
  executor->release(e.output);
  EXPECT_THROW(executor->start_copy(0, {e.output}, {0, 1, 1, 0}), Error);
}

TEST_F(CudaExecutorTest, OneMissingElementIsFound) {
  const Execution e = executor->execute(copying(nullptr, kCount - 1), args);
  EXPECT_EQ(e.unwritten, 1);
  EXPECT_EQ(e.first_unwritten, kCount - 1);
  EXPECT_EQ(e.differing, 0);
}

TEST_F(CudaExecutorTest, OneByteBeyondEitherEndIsFound) {
  for (const std::int64_t at : {std::int64_t{-1}, kCount * 4}) {
    auto wrong = [at](char* out, cudaStream_t s, int) { cudaMemsetAsync(out + at, 0, 1, s); };
    EXPECT_FALSE(executor->execute(copying(wrong), args).guards_intact) << at;
  }
}

TEST_F(CudaExecutorTest, OneBitThatChangesBetweenRunsIsFound) {
  auto wrong = [](char* out, cudaStream_t s, int run) { cudaMemsetAsync(out + 4 * 7, run, 1, s); };
  const Execution e = executor->execute(copying(wrong), args);
  EXPECT_EQ(e.differing, 1);
  EXPECT_EQ(e.first_differing, 7);
}

TEST_F(CudaExecutorTest, RowsOfAStripAreGathered) {
  for (std::int64_t i = 0; i < kCount; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  executor->set_inputs(operands);
  const Execution x = executor->execute(copying(nullptr), args);
  const Execution y = executor->execute(copying(nullptr), args);
  executor->start_copy(1, {x.output, y.output}, {5, 3, 2, 100});
  for (const void* part : executor->finish_copy(1))
    EXPECT_THAT(std::vector<float>(static_cast<const float*>(part), static_cast<const float*>(part) + 6),
                ::testing::ElementsAre(5, 6, 105, 106, 205, 206));
}

TEST_F(CudaExecutorTest, ConstantOperandsLeaveTheInputsAlone) {
  EXPECT_THAT(executor->run_constant(copying(nullptr), args, 0.375, 1, {0, kCount - 1}),
              ::testing::ElementsAre(0.375, 0.375));
  const Execution e = executor->execute(copying(nullptr), args);
  executor->start_copy(0, {e.output}, {0, 1, 1, 0});
  EXPECT_EQ(*static_cast<const float*>(executor->finish_copy(0)[0]), 1.5f);
}

TEST_F(CudaExecutorTest, AFailedAllocationLeavesTheDeviceUsable) {
  Contraction huge = contraction;
  huge.out[0].size = std::int64_t{1} << 42;
  LaunchArgs too_large = args;
  too_large.contraction = &huge;
  EXPECT_THROW(executor->execute(copying(nullptr), too_large), Error);
  EXPECT_EQ(executor->execute(copying(nullptr), args).unwritten, 0);
}

}  // namespace
}  // namespace ulpscope
