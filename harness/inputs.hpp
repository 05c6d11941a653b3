#pragma once
#include <cstdint>
#include <string>

#include "harness/case.hpp"
#include "kernels/support/fill.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {

/// The tensors of a case and their hashes (XXH3-128 over the bytes in fixed 16 MiB chunks, then over the
/// chunk hashes).
struct Inputs {
  Tensor a, b, bias;  // b, bias may be empty
  std::string hash_a, hash_b, hash_bias;
  std::string hash;  // of the above together with dtype and shapes: the record's input_hash

  Operands operands() const;
};

/// Same values on host and device, for any number of threads: element i of tensor t of a case is a function
/// of (seed, t, i) alone, through Philox4x32-10 and IEEE basic operations.
Inputs make_inputs(const Case& c, int threads = 0);

/// One tensor of a case, ready for fill_range (host) or fill_on_device: shape, parameters and key.
struct TensorFill {
  bool present = false;  // whether the case has such a tensor
  Shape shape;
  FillParams params;
  FillKey key;
  DType dtype = DType::f32;
};

/// What make_inputs fills with, in the order a, b, bias. Throws Error if a fill does not suit the operator or
/// the format: integers whose sums might not be exact, exponents out of range, a condition number that the
/// contraction cannot be given.
struct CaseFills {
  TensorFill a, b, bias;
};
CaseFills resolve_fills(const Case& c);

/// Elements [begin, begin + count) of a tensor into `out`; begin is even. Same bits whatever the threads.
void fill_tensor(const TensorFill& fill, std::int64_t begin, std::int64_t count, void* out, int threads = 0);

/// Tensors that came from elsewhere, with the same hashes; b and bias may be empty.
Inputs inputs_from(Tensor a, Tensor b, Tensor bias, int threads = 0);

/// Hash of any byte range as above; independent of threads.
std::string hash_bytes(const void* data, std::size_t bytes, int threads = 0);

}  // namespace ulpscope
