#pragma once
#include <map>
#include <optional>
#include <string>

#include "harness/io/bytes.hpp"
#include "harness/io/elements.hpp"

namespace ulpscope {

/// A safetensors file: eight bytes of header length, a JSON header, the data. Tensors are mapped where their
/// alignment allows it.
class Safetensors {
 public:
  /// Throws Error if the header is damaged or a tensor lies outside the file.
  explicit Safetensors(Bytes file);

  std::vector<std::string> names() const;
  Tensor read(const std::string& name, std::optional<DType> as = {}) const;

 private:
  struct Entry {
    ArrayLayout layout;
    std::size_t begin = 0, end = 0;  // in the file
    std::string unsupported;         // element type that cannot be read; others in the file still can
  };
  Bytes file_;
  std::map<std::string, Entry> entries_;
};

}  // namespace ulpscope
