// The column and filter matrices name exactly the contraction's terms.
#include "kernels/vendor/im2col.hpp"

#include <gtest/gtest.h>

#include "reference/operators/random_problem.hpp"

namespace ulpscope::vendor {
namespace {

TEST(Im2col, RowsOfTheMatricesAreTheTermsInTheirOrder) {
  Random pick{std::mt19937_64(61)};
  for (int i = 0; i < 100; ++i) {
    const Problem p = random_problem("conv_transpose1d", pick);
    SCOPED_TRACE(to_string(p));
    const Contraction c = lower(p);
    const Im2col m = im2col_of(p);
    ASSERT_EQ(m.images * m.groups * m.rows * m.positions, c.outputs());
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      const std::int64_t position = o % m.positions, row = o / m.positions % m.rows;
      const std::int64_t group = o / (m.positions * m.rows) % m.groups,
                         image = o / (m.positions * m.rows * m.groups);
      std::vector<std::pair<std::int64_t, std::int64_t>> walked, expected;
      for (std::int64_t d = 0; d < m.depth(); ++d) {
        const std::int64_t x = m.source(d * m.positions + position, image, group);
        if (x >= 0) walked.emplace_back(x, m.filter_source(row * m.depth() + d, group));
        // A later image of the same run lies one column matrix further.
        if (image > 0) {
          ASSERT_EQ(m.source(m.column_elements() + d * m.positions + position, image - 1, group), x);
        }
      }
      for (const Term& t : terms_of(c, o)) expected.emplace_back(t.a, t.b);
      ASSERT_EQ(walked, expected) << "output " << o;
    }
  }
}

}  // namespace
}  // namespace ulpscope::vendor
