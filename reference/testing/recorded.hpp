#pragma once
// Test support: the recorded arrays of reports/recorded/, raw. Those archives are stored (not deflated) zips
// of version-1 .npy files, so a member is a header and bytes.
#include <cstdint>
#include <string>
#include <vector>

#include "reference/tensor.hpp"

namespace ulpscope::testing {

struct RawArray {
  std::string type;  // NumPy's: "<f4", "<u2", "|u1", "<i8"
  Shape shape;
  std::vector<std::uint8_t> bytes;

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

/// An array of reports/recorded/pytorch-2.11-h200/<archive>.npz, or of reports/recorded/<folder>/<name>.npz
/// if `archive` is folder/name. Throws Error if it is not there.
RawArray recorded_array(const std::string& archive, const std::string& name);
std::vector<std::string> recorded_names(const std::string& archive);

/// A recorded float array as a tensor.
Tensor recorded_tensor(const std::string& archive, const std::string& name);

}  // namespace ulpscope::testing
