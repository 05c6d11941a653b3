#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/io/bytes.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {

/// A NumPy archive: a zip of .npy members, stored or deflated, and of plain ones (a capture's meta.json).
/// Every member's checksum is verified when it is read. Stored members are mapped, not copied, where their
/// alignment allows it; deflated ones are inflated.
class Npz {
 public:
  /// Throws Error if the archive is no zip, is cut off or inconsistent, or names a member twice.
  explicit Npz(Bytes file);
  ~Npz();
  Npz(Npz&&) noexcept;

  const std::vector<std::string>& members() const;  // as in the archive: "x.npy", "meta.json"
  std::vector<std::string> arrays() const;          // names of .npy members without the ending
  bool has(const std::string& member) const;

  /// Raw bytes of a member. Throws Error with a suggestion if there is none.
  Bytes bytes(const std::string& member) const;

  /// An array, by its name with or without ".npy".
  Tensor read(const std::string& name, std::optional<DType> as = {}) const;

 private:
  struct Archive;
  std::unique_ptr<Archive> archive_;
};

struct NpzMember {
  std::string name;   // "output.npy", "meta.json"
  TensorView tensor;  // written if its data is not null
  std::string text;   // else this
};

/// Stored, aligned for mapping, with fixed dates (same content, same bytes); written beside and renamed.
void write_npz(const std::string& path, std::span<const NpzMember> members);

}  // namespace ulpscope
