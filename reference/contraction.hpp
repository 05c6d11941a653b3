#pragma once
// The one idea that carries the project: every operator here is a contraction,
//   out[o] = sum over t of A[ia(o,t)] * B[ib(o,t)]  (+ bias[o'])  (/ divisor),
// and its index map, written once, gives the exact reference, S, replay, probes, bounds and structural
// mutants.
//
// The map is a set of axes. An output axis moves the output and linearly A and/or B; a reduction axis
// likewise moves A and/or B. A convolution's spatial axis couples a reduction axis r with an output axis o:
// A's coordinate is
//   i = (o_mul*o + r_mul*r + offset) / divisor,  a term exists iff divisor divides and 0 <= i < extent.
// (conv: o_mul=stride, r_mul=dilation, offset=-padding, divisor=1. transposed conv: o_mul=1, r_mul=-dilation,
//  offset=padding, divisor=stride. backward weight: o_mul=dilation, r_mul=stride, offset=-padding.)
// Padding taps are no terms: there is no 0*inf at an edge.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/tensor.hpp"

namespace ulpscope {

struct OutAxis {
  std::string name;  // "n", "g", "m", "od", "oh", "ow", "i", "j", ...
  std::int64_t size = 1;
  std::int64_t a_stride = 0;  // elements of A per step (0 for the coupled part, which Coupling describes)
  std::int64_t b_stride = 0;
  std::int64_t bias_stride = 0;
};

struct Coupling {
  int out_axis = -1;  // index into Contraction::out; -1: not coupled
  std::int64_t o_mul = 0, r_mul = 0, offset = 0, divisor = 1;
  std::int64_t extent = 0;    // A's extent along this coordinate
  std::int64_t a_stride = 0;  // elements of A per step of the coordinate
};

struct RedAxis {
  std::string name;  // "c", "kd", "kh", "kw", "k", "n", "od", "oh", "ow": the names used in plans
  std::int64_t size = 1;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
  Coupling coupling;
};

/// Out axes are in output memory order (outermost first; the output is dense over them). Red axes are in
/// canonical term order (outermost first), e.g. "c kh kw" for convolutions, "n oh ow" for backward weight,
/// "k" for gemm.
struct Contraction {
  std::vector<OutAxis> out;
  std::vector<RedAxis> red;
  Shape out_shape;  // what the user sees, e.g. [N, Cout, OH, OW]; same element order as `out`
  std::int64_t a_offset = 0, b_offset = 0, bias_offset = 0;  // constant parts
  std::int64_t a_size = 0, b_size = 0, bias_size = 0;        // elements of the operands (bounds checks)
  bool b_is_ones = false;                                    // sum, mean: no second operand
  bool has_bias = false;
  double divisor = 1;  // mean: the sum is divided once at the end

  std::int64_t outputs() const;  // product of out sizes
  std::int64_t terms() const;    // product of red sizes (an upper bound on one output's terms)
};

/// One term: linear indices into A and B, and the term's canonical number (mixed radix over red axes).
struct Term {
  std::int64_t a, b, id;
};

/// The list of terms of output `o` (linear output index), in canonical order, missing taps left out. For
/// tests, probing and single outputs; bulk code packs tiles instead (reference/tiles.hpp).
std::vector<Term> terms_of(const Contraction& c, std::int64_t o);
std::int64_t bias_index(const Contraction& c, std::int64_t o);

/// The same contraction restricted to out axis `axis`, positions [from, to).
Contraction slice(const Contraction& c, int axis, std::int64_t from, std::int64_t to);

}  // namespace ulpscope
