#pragma once
// Test support: random problems that exercise every parameter of an operator.
#include <random>
#include <string>

#include "reference/operators.hpp"

namespace ulpscope {

using Int = std::int64_t;

/// Uniform integers in [lo, hi].
struct Random {
  std::mt19937_64 rng;
  Int operator()(Int lo, Int hi) {
    return lo + static_cast<Int>(rng() % static_cast<std::uint64_t>(hi - lo + 1));
  }
};

// A random problem that the operator accepts; small, but with every parameter in play.
inline Problem random_problem(const std::string& op, Random& pick) {
  Problem q;
  q.params.op = op;
  const auto rank = static_cast<std::size_t>(spatial_rank(op));
  if (rank == 0) {
    const Int m = pick(1, 5), n = pick(1, 5), k = pick(1, 6), z = pick(1, 3);
    if (op == "gemm") {
      q.params.transpose_a = pick(0, 1);
      q.params.transpose_b = pick(0, 1);
      q.params.bias = pick(0, 1);
      q.a = q.params.transpose_a ? Shape{k, m} : Shape{m, k};
      q.b = q.params.transpose_b ? Shape{n, k} : Shape{k, n};
      if (const Int batched = pick(0, 3); batched) {
        if (batched & 1) q.a.insert(q.a.begin(), z);
        if (batched & 2) q.b.insert(q.b.begin(), z);
      }
    } else if (op == "linear") {
      q.params.bias = pick(0, 1);
      q.a = pick(0, 1) ? Shape{m, k} : Shape{z, m, k};
      q.b = {n, k};
    } else {
      q.a = {pick(1, 9), pick(1, 4)};
      if (op == "dot") q.b = q.a;
    }
    return q;
  }
  OperatorParams& p = q.params;
  p.groups = pick(1, 3);
  const Int n = pick(1, 3), cin = p.groups * pick(1, 2), cout = p.groups * pick(1, 3);
  Shape input{n, cin}, output{n, cout}, kernel, extents;
  for (std::size_t s = 0; s < rank; ++s) {
    Int in, window;
    Int k;
    do {
      p.stride[s] = pick(1, 3);
      p.dilation[s] = pick(1, 3);
      p.padding[s] = pick(0, 3);
      k = pick(1, 3);
      in = pick(1, rank == 3 ? 5 : 9);
      window = p.dilation[s] * (k - 1) + 1;
    } while (window > in + 2 * p.padding[s]);
    input.push_back(in);
    extents.push_back(in);
    kernel.push_back(k);
    output.push_back((in + 2 * p.padding[s] - window) / p.stride[s] + 1);
  }
  Shape weight{cout, cin / p.groups};
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  if (op.find("backward_weight") != std::string::npos) {
    q.a = input;
    q.b = output;
    p.target = kernel;
  } else if (op.find("backward_input") != std::string::npos) {
    q.a = output;
    q.b = weight;
    p.target = extents;
  } else if (op.find("transpose") != std::string::npos) {
    // From the convolution's output back to its input: output_padding makes up what the division lost.
    q.a = output;
    q.b = weight;
    p.bias = pick(0, 1);
    for (std::size_t s = 0; s < rank; ++s)
      p.output_padding[s] = input[s + 2] - ((output[s + 2] - 1) * p.stride[s] +
                                            p.dilation[s] * (kernel[s] - 1) + 1 - 2 * p.padding[s]);
  } else {
    q.a = input;
    q.b = weight;
    p.bias = pick(0, 1);
  }
  return q;
}

}  // namespace ulpscope
