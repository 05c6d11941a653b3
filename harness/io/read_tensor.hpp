#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/io/bytes.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {

/// Reads the array that `spec` names:
///   FILE.npy                      FILE.npz:NAME (NAME may be left out if there is one array)
///   FILE.safetensors:NAME (ditto) FILE:fp32:32x64x5 (raw little-endian bytes, for any other file)
/// The kind of file is told by its first bytes, then by its ending. `as` is the wanted format: see
/// import_elements. Files are mapped where possible, so large ones cost no memory. Throws Error in one line.
Tensor read_tensor(const std::string& spec, std::optional<DType> as = {});

/// The same for bytes already at hand; `name` is what follows the file's name in the spec, or "".
Tensor read_tensor(const Bytes& file, const std::string& name, std::optional<DType> as = {});

/// Names of the arrays in an .npz or safetensors file.
std::vector<std::string> tensor_names(const std::string& path);

/// "32x64x5" or "32,64,5", "scalar"; throws Error.
Shape parse_shape(const std::string& text);

}  // namespace ulpscope
