#pragma once
// gemm, linear and convolutions of kernel extent 1 as row-major matrix products, batched with strides: what a
// BLAS can do with an operator without moving data.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/operators.hpp"

namespace ulpscope::vendor {

/// out[b] (m x n) = left[b] (m x k) * right[b] (k x n), row-major, element (i, j) of out[b] at
/// offset_out + b*stride_out + i*n + j. A transposed operand is stored the other way round.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool left_is_a = true;  // which operand of the problem is the left factor
  bool transpose_left = false, transpose_right = false;
  std::int64_t offset_left = 0, offset_right = 0, offset_out = 0;
  std::int64_t stride_left = 0, stride_right = 0, stride_out = 0;  // elements from one b to the next

  std::int64_t ld_left() const { return transpose_left ? m : k; }
  std::int64_t ld_right() const { return transpose_right ? k : n; }
};

/// The products that make up a problem (one per group). Throws Error saying why it is none.
std::vector<MatrixProduct> matrix_products_of(const Problem& problem);

}  // namespace ulpscope::vendor
