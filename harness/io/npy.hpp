#pragma once
#include <optional>
#include <string>

#include "harness/io/bytes.hpp"
#include "harness/io/elements.hpp"

namespace ulpscope {

/// A .npy array, format versions 1 to 3 (NumPy Enhancement Proposal 1). Floats of 64, 32 and 16 bits,
/// bfloat16 as ml_dtypes saves it, integers and booleans; either byte and memory order. Complex, structured,
/// text and object arrays are refused. `as`: see import_elements.
Tensor read_npy(const Bytes& file, std::optional<DType> as = {});

/// The header of a version 1 file for a C-contiguous little-endian array, padded so that data starts at a
/// multiple of 64. bf16 is written as '<V2', as ml_dtypes does.
std::string npy_header(DType dtype, const Shape& shape);

/// Written beside and renamed.
void write_npy(const std::string& path, const TensorView& tensor);

}  // namespace ulpscope
