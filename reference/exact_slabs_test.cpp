// The exact reference in parts: threads, slabs, rows, windows of huge problems, and ranges that do not exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "reference/error.hpp"
#include "reference/exact.hpp"
#include "reference/operators.hpp"
#include "reference/testing/exact_witness.hpp"

namespace ulpscope {
namespace {

using namespace exact_testing;

TEST(Exact, ThreadsSlabsAndLevelsChangeNoBit) {
  Random pick{std::mt19937_64(25)};
  struct Shape3 {
    Problem q;
    DType dtype;
  };
  Problem conv;
  conv.params.op = "conv2d";
  conv.params.padding = {1, 1, 0};
  conv.params.bias = true;
  conv.a = {2, 20, 15, 17};
  conv.b = {40, 20, 3, 3};
  for (const auto& [q, dtype] :
       {Shape3{gemm(90, 64, 130), DType::f32}, Shape3{gemm(3, 140000, 2), DType::f32},
        Shape3{conv, DType::bf16}, Shape3{conv, DType::f32}})
    for (const Fill fill : {Fill::uniform, Fill::integers, Fill::special, Fill::cancel}) {
      if (q.a.back() > 10000 && fill != Fill::uniform) continue;
      const Case x(q, dtype, fill, pick);
      const Int n = x.c.outputs();
      for (const DType out : {DType::f32, DType::f16}) {
        const Results whole = run(x, {out, 1}, 0, n);
        auto same = [&](const Results& r, const char* what) {
          EXPECT_EQ(std::memcmp(r.value.data(), whole.value.data(), r.value.size() * 8), 0)
              << what << to_string(q);
          EXPECT_EQ(r.magnitude, whole.magnitude) << what << to_string(q);
          EXPECT_EQ(r.rounded, whole.rounded) << what << to_string(q);
        };
        const Results threaded = run(x, {out, 3}, 0, n);
        same(threaded, "threads ");
        EXPECT_EQ(threaded.tally.certified, whole.tally.certified);
        EXPECT_EQ(threaded.tally.exact_sum, whole.tally.exact_sum);
        same(run(x, {out, 1, SimdLevel::base}, 0, n), "baseline ");
        Results slabs(n);
        for (Int first = 0; first < n; first += 997) {
          const Int count = std::min<Int>(997, n - first);
          exact(x.c, x.operands(), {out, 2}, first, count,
                {slabs.value.data() + first, slabs.magnitude.data() + first, slabs.rounded.data() + first});
        }
        same(slabs, "slabs ");
        Results rows(n);
        std::mutex guard;
        exact_rows(x.c, x.operands(), {out, 2}, 0, n, [&](const ExactRow& row) {
          std::lock_guard lock(guard);
          std::copy_n(row.value, row.count, rows.value.begin() + row.index);
          std::copy_n(row.magnitude, row.count, rows.magnitude.begin() + row.index);
          std::copy_n(row.rounded, row.count, rows.rounded.begin() + row.index);
        });
        same(rows, "rows ");
      }
    }
}

TEST(Exact, WindowsOfHugeProblemsNeedNoMoreThanTheirOperands) {
  // 2^31 outputs; only a window of them is computed.
  Problem q;
  q.params.op = "linear";
  q.a = {std::int64_t{1} << 16, 4};
  q.b = {std::int64_t{1} << 15, 4};
  Random pick{std::mt19937_64(26)};
  const Case x(q, DType::f32, Fill::uniform, pick);
  ASSERT_EQ(x.c.outputs(), std::int64_t{1} << 31);
  const Int begin = x.c.outputs() - 100;
  expect_true_values(x, DType::f32, run(x, {}, begin, 100), begin, 100, "the last outputs");
}

TEST(Exact, BadRangesAndShortOperandsAreRefused) {
  Random pick{std::mt19937_64(27)};
  const Case x(gemm(3, 4, 5), DType::f32, Fill::uniform, pick);
  EXPECT_THROW(exact(x.c, x.operands(), {}, 0, 16, {}), Error);
  EXPECT_THROW(exact(x.c, x.operands(), {}, -1, 2, {}), Error);
  EXPECT_THROW(exact(x.c, {x.a.view(), {}, {}}, {}, 0, 1, {}), Error);
  const Int outside[] = {3, 15};
  EXPECT_THROW(exact_at(x.c, x.operands(), {}, outside, {}), Error);
  EXPECT_EQ(exact(x.c, x.operands(), {}, 15, 0, {}).certified, 0);
}

}  // namespace
}  // namespace ulpscope
