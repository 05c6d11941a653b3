#pragma once
// From a file's elements to a Tensor, whatever their type, byte order and memory order: mapped where the
// bytes can stay as they are, converted exactly where not, refused where a value would change.
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/io/bytes.hpp"
#include "reference/tensor.hpp"

namespace ulpscope {

/// Element types of files. `bits16`: two bytes of unstated meaning (NumPy's V2, as ml_dtypes saves bfloat16).
enum class ElementType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  bits16,
  boolean,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64
};

std::size_t size_of(ElementType type);
const char* name_of(ElementType type);

/// How a file lays its array out.
struct ArrayLayout {
  ElementType type = ElementType::f32;
  bool big_endian = false;
  bool fortran_order = false;  // first axis fastest
  Shape shape;
};

/// Number of bytes the array takes; throws Error if that overflows 63 bits.
std::size_t bytes_of(const ArrayLayout& layout, const std::string& name);

/// The array, C-contiguous, in format `as`, or without it in the file's own one (bits16: bf16; integers and
/// booleans: fp64). Values never change: a float that `as` cannot hold, or an integer beyond 2^53, is an
/// Error that names the element. With `as` = bf16 or fp16, uint16 and bits16 are taken as raw bits. `bytes`
/// must have exactly the size of the layout; the tensor shares its owner when nothing needs converting.
Tensor import_elements(const ArrayLayout& layout, const Bytes& bytes, std::optional<DType> as);

}  // namespace ulpscope
