#pragma once
#include <string>

#include "harness/case.hpp"
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

/// Hash of any byte range as above; independent of threads.
std::string hash_bytes(const void* data, std::size_t bytes, int threads = 0);

}  // namespace ulpscope
