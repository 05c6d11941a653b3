#include "reference/eigen.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/error.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {
namespace {

Tensor random_tensor(DType dtype, Int n, Random& pick) {
  Tensor t = make_tensor(dtype, {n});
  for (Int i = 0; i < n; ++i) {
    const double x = static_cast<double>(pick(-1000, 1000)) * std::exp2(static_cast<double>(pick(-16, 0)));
    const std::uint64_t bits = round_to_bits(dtype, x);
    std::memcpy(t.as<std::byte>() + i * size_of(dtype), &bits, static_cast<std::size_t>(size_of(dtype)));
  }
  return t;
}

class EigenOfEveryOperator : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Operators, EigenOfEveryOperator, testing::ValuesIn(operator_names()),
                         [](auto& p) { return p.param; });

// Two lowerings that share no index map, two summations that share no order: they agree within the witness's
// bound.
TEST_P(EigenOfEveryOperator, AgreesWithTheExactValueWithinItsBound) {
  Random pick{std::mt19937_64(31)};
  for (int trial = 0; trial < 80; ++trial) {
    const Problem q = random_problem(GetParam(), pick);
    const Contraction c = lower(q);
    const DType dtype = trial % 3 == 0 ? DType::f64 : trial % 3 == 1 ? DType::f32 : DType::f16;
    const Tensor a = random_tensor(dtype, c.a_size, pick),
                 b = random_tensor(dtype, std::max<Int>(c.b_size, 1), pick),
                 bias = random_tensor(dtype, std::max<Int>(c.bias_size, 1), pick);
    Operands operands{a.view(), {}, {}};
    if (!c.b_is_ones) operands.b = b.view();
    if (c.has_bias) operands.bias = bias.view();
    const EigenResult witness = eigen_reference(q, operands);
    const auto n = static_cast<std::size_t>(c.outputs());
    ASSERT_EQ(witness.value.size(), n) << to_string(q);
    std::vector<double> value(n), magnitude(n);
    exact(c, operands, {DType::f64, 1}, 0, c.outputs(), {value.data(), magnitude.data(), nullptr});
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_LE(std::fabs(witness.value[i] - value[i]), witness.bound[i] + std::fabs(value[i]) * 0x1p-53)
          << to_string(q) << " output " << i;
      // The bound is a bound of rounding, not a licence: it is tiny beside S.
      ASSERT_LE(witness.bound[i], 0x1p-40 * magnitude[i] + 1e-300) << to_string(q);
    }
  }
}

TEST(Eigen, WrongSizesAreRefused) {
  Problem q;
  q.params.op = "dot";
  q.a = q.b = {4};
  const Tensor a = make_tensor(DType::f32, {4}), b = make_tensor(DType::f32, {3});
  EXPECT_THROW(eigen_reference(q, {a.view(), b.view(), {}}), Error);
  q.a = q.b = {std::int64_t{1} << 30};
  EXPECT_THROW(eigen_reference(q, {a.view(), a.view(), {}}), Error);
}

}  // namespace
}  // namespace ulpscope
