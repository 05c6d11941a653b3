#include "reference/tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "reference/error.hpp"
#include "reference/operators.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {
namespace {

Tensor random_tensor(DType dtype, Int n, Random& pick) {
  Tensor t = make_tensor(dtype, {n});
  for (Int i = 0; i < n; ++i) {
    const double x = static_cast<double>(pick(-1000, 1000)) * std::exp2(static_cast<double>(pick(-20, 2)));
    const std::uint64_t bits = round_to_bits(dtype, x);
    std::memcpy(t.as<std::byte>() + i * size_of(dtype), &bits, static_cast<std::size_t>(size_of(dtype)));
  }
  return t;
}

// Every packed element against terms_of, for each output of a run, in a shuffled order of terms.
template <class T>
void check_tiles(const Problem& q, DType dtype, Random& pick, SimdLevel level) {
  const Contraction c = lower(q);
  const Tensor a = random_tensor(dtype, c.a_size, pick),
               b = random_tensor(dtype, std::max<Int>(c.b_size, 1), pick),
               bias = random_tensor(dtype, std::max<Int>(c.bias_size, 1), pick);
  const Operands operands{a.view(), b.view(), bias.view()};
  const Int begin = pick(0, c.outputs() - 1), count = pick(1, c.outputs() - begin);
  const TileGrid grid(c, begin, count, {pick(1, 20), pick(1, 5)});
  std::vector<Int> ids(static_cast<std::size_t>(c.terms()));
  std::iota(ids.begin(), ids.end(), Int{0});
  const bool canonical = pick(0, 1);
  if (!canonical) std::shuffle(ids.begin(), ids.end(), pick.rng);
  TermBlock terms(c);
  const Int n = c.terms();
  canonical ? terms.assign_range(0, n) : terms.assign(ids);
  TilePacker packer(grid, operands, level);
  const int widths[] = {1, 3, 4, 8, 16, 5};
  std::vector<int> seen(static_cast<std::size_t>(count));
  for (Int i = 0; i < grid.tiles(); ++i) {
    const Tile tile = grid.tile(i);
    packer.move_to(tile);
    struct Panel {
      int width;
      std::vector<T> value;
      std::vector<std::uint8_t> valid;
    } panels[2];
    for (const Side side : {Side::lanes, Side::columns}) {
      Panel& p = panels[static_cast<std::size_t>(side)];
      p.width = widths[pick(0, 5)];
      const Int size = side == Side::lanes ? tile.lanes : tile.columns;
      const auto padded = static_cast<std::size_t>((size + p.width - 1) / p.width * p.width * n);
      p.value.assign(padded, T(-7));
      p.valid.assign(padded, 9);
      packer.pack(side, terms, p.width, p.value.data(), p.valid.data());
      std::vector<T> alone(padded, T(-7));
      packer.pack(side, terms, p.width, alone.data());
      ASSERT_EQ(alone, p.value);
      for (Int l = size; l < (size + p.width - 1) / p.width * p.width; ++l)
        for (Int t = 0; t < n; ++t) {
          const auto at = static_cast<std::size_t>((l / p.width * n + t) * p.width + l % p.width);
          ASSERT_EQ(p.value[at], T(0));
          ASSERT_EQ(p.valid[at], 0);
        }
    }
    auto element = [&](Side side, Int position, Int t, bool& valid) {
      const Panel& p = panels[static_cast<std::size_t>(side)];
      const auto at = static_cast<std::size_t>((position / p.width * n + t) * p.width + position % p.width);
      valid = p.valid[at];
      EXPECT_TRUE(valid || p.value[at] == 0);
      return p.value[at];
    };
    for (Int l = 0; l < tile.lanes; ++l)
      for (Int u = 0; u < tile.columns; ++u) {
        const Int o =
            packer.lane_out()[static_cast<std::size_t>(l)] + packer.column_out()[static_cast<std::size_t>(u)];
        ASSERT_GE(o, 0);
        ASSERT_LT(o, count);
        ++seen[static_cast<std::size_t>(o)];
        if (c.has_bias) {
          ASSERT_EQ(packer.lane_bias()[static_cast<std::size_t>(l)] +
                        packer.column_bias()[static_cast<std::size_t>(u)],
                    bias_index(c, begin + o));
        }
        std::vector<Int> a_at(static_cast<std::size_t>(n), -1), b_at(a_at);
        const auto list = terms_of(c, begin + o);
        for (const Term& t : list) {
          a_at[static_cast<std::size_t>(t.id)] = t.a;
          b_at[static_cast<std::size_t>(t.id)] = t.b;
        }
        if (list.size() < static_cast<std::size_t>(n)) {
          ASSERT_TRUE(packer.may_miss_taps());
        }
        for (Int t = 0; t < n; ++t) {
          const auto id = static_cast<std::size_t>(ids[static_cast<std::size_t>(t)]);
          bool v1, v2;
          T x = element(Side::lanes, l, t, v1), y = element(Side::columns, u, t, v2);
          if (grid.operand(Side::lanes) == Operand::b) {
            std::swap(x, y);
            std::swap(v1, v2);
          }
          ASSERT_EQ(v1, a_at[id] >= 0) << to_string(q);
          ASSERT_TRUE(v2);
          if (a_at[id] < 0) continue;
          ASSERT_EQ(x, static_cast<T>(a.view().at(a_at[id]))) << to_string(q);
          ASSERT_EQ(y, c.b_is_ones ? T(1) : static_cast<T>(b.view().at(b_at[id]))) << to_string(q);
        }
      }
  }
  for (const int times : seen) ASSERT_EQ(times, 1) << to_string(q);
}

class TilesOfEveryOperator : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Operators, TilesOfEveryOperator, testing::ValuesIn(operator_names()),
                         [](auto& p) { return p.param; });

TEST_P(TilesOfEveryOperator, PackTheTermsOfTheirOutputs) {
  Random pick{std::mt19937_64(11)};
  const DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64};
  for (int trial = 0; trial < 40; ++trial) {
    const Problem q = random_problem(GetParam(), pick);
    const SimdLevel level = trial % 3 == 0 ? SimdLevel::base : simd_level();
    check_tiles<double>(q, dtypes[trial % 4], pick, level);
    check_tiles<float>(q, dtypes[(trial + 1) % 4], pick, level);
    if (HasFatalFailure()) return;
  }
}

// The sum over each output's packed terms, against terms_of.
void check_sums(const Problem& q, TileShape shape, Random& pick) {
  const Contraction c = lower(q);
  const Tensor a = random_tensor(DType::f32, c.a_size, pick), b = random_tensor(DType::f32, c.b_size, pick);
  const TileGrid grid(c, 0, c.outputs(), shape);
  TilePacker packer(grid, {a.view(), b.view(), {}});
  TermBlock terms(c);
  terms.assign_range(0, c.terms());
  std::vector<double> lanes(static_cast<std::size_t>(c.terms() * (shape.lanes + 7) / 8 * 8)),
      columns(static_cast<std::size_t>(c.terms() * shape.columns));
  for (Int i = 0; i < grid.tiles(); ++i) {
    const Tile tile = grid.tile(i);
    packer.move_to(tile);
    packer.pack(Side::lanes, terms, 8, lanes.data());
    packer.pack(Side::columns, terms, 1, columns.data());
    for (Int l = 0; l < tile.lanes; ++l)
      for (Int u = 0; u < tile.columns; ++u) {
        double sum = 0, expected = 0;
        for (Int t = 0; t < c.terms(); ++t)
          sum += lanes[static_cast<std::size_t>((l / 8 * c.terms() + t) * 8 + l % 8)] *
                 columns[static_cast<std::size_t>(u * c.terms() + t)];
        const Int o =
            packer.lane_out()[static_cast<std::size_t>(l)] + packer.column_out()[static_cast<std::size_t>(u)];
        for (const Term& t : terms_of(c, o)) expected += a.view().at(t.a) * b.view().at(t.b);
        ASSERT_EQ(sum, expected) << to_string(q) << " output " << o;
      }
  }
}

// Long rows take the paths that copy stretches; large strides, dilations and paddings cut them.
TEST(Tiles, LongRowsAreCopiedRight) {
  Random pick{std::mt19937_64(12)};
  for (int trial = 0; trial < 60; ++trial) {
    Problem q;
    q.params.op = trial % 3 == 0 ? "conv1d" : trial % 3 == 1 ? "conv_transpose1d" : "conv1d_backward_weight";
    q.params.stride[0] = pick(1, 3);
    q.params.dilation[0] = pick(1, 4);
    q.params.padding[0] = pick(0, 6);
    const Int k = pick(1, 4), in = pick(30, 120);
    const Int out =
        (in + 2 * q.params.padding[0] - q.params.dilation[0] * (k - 1) - 1) / q.params.stride[0] + 1;
    q.a = {2, 3, in};
    q.b = trial % 3 == 2 ? Shape{2, 2, out} : trial % 3 == 1 ? Shape{3, 2, k} : Shape{2, 3, k};
    if (trial % 3 == 2) q.params.target = {k};
    check_sums(q, {64, 2}, pick);
  }
}

// Tiles begin anywhere in a row, at its last position too; whatever the row's length, stretches end with it.
TEST(Tiles, MayBeginAnywhereInARow) {
  Random pick{std::mt19937_64(13)};
  for (Int row = 7; row < 40; ++row) {
    Problem q;
    q.params.op = "conv2d";
    q.params.padding = {0, pick(0, 1), 0};
    q.a = {2, 2, 40, row};
    q.b = {1, 2, 1, 3};
    check_sums(q, {64, 1}, pick);
    if (HasFatalFailure()) return;
  }
}

TEST(Tiles, EveryHalfWidensExactly) {
  Problem q;
  q.params.op = "sum";
  q.a = {65536};
  const Contraction c = lower(q);
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const SimdLevel level : {SimdLevel::base, simd_level()}) {
      Tensor a = make_tensor(dtype, q.a);
      for (int i = 0; i < 65536; ++i) a.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
      const TileGrid grid(c, 0, 1);
      TilePacker packer(grid, {a.view(), {}, {}}, level);
      TermBlock terms(c);
      terms.assign_range(0, 65536);
      packer.move_to(grid.tile(0));
      std::vector<float> panel(65536);
      packer.pack(Side::lanes, terms, 1, panel.data());
      for (int i = 0; i < 65536; ++i) {
        const double expected = a.view().at(i);
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(panel[static_cast<std::size_t>(i)]));
        else
          ASSERT_EQ(std::bit_cast<std::uint32_t>(panel[static_cast<std::size_t>(i)]),
                    std::bit_cast<std::uint32_t>(static_cast<float>(expected)));
      }
    }
}

TEST(Tiles, TwoToThe31OutputsAreCutWithoutAllocatingThem) {
  Problem q;
  q.params.op = "conv2d";
  q.a = {16, 64, 1024, 1024};
  q.b = {128, 64, 1, 1};
  const Contraction c = lower(q);
  const TileGrid grid(c, 5, c.outputs() - 5, {256, 128});
  EXPECT_GE(grid.tiles(), (Int{1} << 31) / (256 * 128));
  const Tile last = grid.tile(grid.tiles() - 1);
  EXPECT_GT(last.lanes, 0);
  EXPECT_THROW(TileGrid(c, 5, c.outputs()), Error);
}

TEST(Tiles, ShortOperandsAreRefused) {
  Problem q;
  q.params.op = "linear";
  q.a = {2, 8};
  q.b = {3, 8};
  const Contraction c = lower(q);
  const Tensor a = make_tensor(DType::f32, {16}), b = make_tensor(DType::f32, {23});
  const TileGrid grid(c, 0, 6);
  EXPECT_THROW(TilePacker(grid, {a.view(), b.view(), {}}), Error);
  EXPECT_THROW(TilePacker(grid, {a.view(), {}, {}}), Error);
}

TEST(Tiles, EveryTileIsVisitedOnceByAnyNumberOfThreads) {
  Problem q;
  q.params.op = "gemm";
  q.a = {100, 3};
  q.b = {3, 100};
  const Contraction c = lower(q);
  const TileGrid grid(c, 0, c.outputs(), {16, 4});
  for (const int threads : {1, 3}) {
    Int outputs = 0;
    std::mutex guard;
    for_each_tile(grid, threads, [&] {
      return [&](const Tile& tile) {
        std::lock_guard lock(guard);
        outputs += tile.lanes * tile.columns;
      };
    });
    EXPECT_EQ(outputs, 10000);
  }
}

}  // namespace
}  // namespace ulpscope
