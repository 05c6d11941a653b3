#include "harness/io/elements.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

struct TypeInfo {
  const char* name;
  std::size_t bytes;
};

constexpr std::array<TypeInfo, 14> kTypes{{{"float64", 8},
                                           {"float32", 4},
                                           {"float16", 2},
                                           {"bfloat16", 2},
                                           {"raw 16-bit", 2},
                                           {"bool", 1},
                                           {"int8", 1},
                                           {"uint8", 1},
                                           {"int16", 2},
                                           {"uint16", 2},
                                           {"int32", 4},
                                           {"uint32", 4},
                                           {"int64", 8},
                                           {"uint64", 8}}};

constexpr double kExactIntegers = 0x1p53;  // every integer up to here is a double

std::optional<DType> float_format(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return DType::f64;
    case ElementType::f32:
      return DType::f32;
    case ElementType::f16:
      return DType::f16;
    case ElementType::bf16:
    case ElementType::bits16:
      return DType::bf16;
    default:
      return std::nullopt;
  }
}

// Little-endian bits of element i, zero-extended.
std::uint64_t load(const std::byte* p, std::size_t size, bool big_endian) {
  std::array<std::byte, 8> raw{};
  std::memcpy(raw.data(), p, size);
  if (big_endian) std::reverse(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(size));
  std::uint64_t bits;
  std::memcpy(&bits, raw.data(), 8);
  return bits;
}

double integer_value(ElementType type, std::uint64_t bits) {
  switch (type) {
    case ElementType::boolean:
      return bits ? 1 : 0;
    case ElementType::i8:
      return static_cast<std::int8_t>(bits);
    case ElementType::i16:
      return static_cast<std::int16_t>(bits);
    case ElementType::i32:
      return static_cast<std::int32_t>(bits);
    case ElementType::i64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    default:
      return static_cast<double>(bits);
  }
}

// Walks the elements in C order; yields each one's position in the file's order.
class FileOrder {
 public:
  FileOrder(const Shape& shape, bool fortran) : shape_(shape), step_(shape.size()), at_(shape.size(), 0) {
    std::int64_t stride = 1;
    if (fortran)
      for (std::size_t axis = 0; axis < shape.size(); stride *= shape[axis++]) step_[axis] = stride;
    else
      for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) step_[axis] = stride;
  }
  std::int64_t position() const { return position_; }
  void next() {
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      position_ += step_[axis];
      if (++at_[axis] < shape_[axis]) return;
      position_ -= step_[axis] * shape_[axis];
      at_[axis] = 0;
    }
  }

 private:
  const Shape& shape_;
  std::vector<std::int64_t> step_, at_;
  std::int64_t position_ = 0;
};

void store(Tensor& t, std::int64_t i, std::uint64_t bits) {
  const auto each = static_cast<std::size_t>(size_of(t.dtype));
  std::memcpy(t.as<std::byte>() + static_cast<std::size_t>(i) * each, &bits, each);
}

}  // namespace

std::size_t size_of(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].bytes;
}
const char* name_of(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::size_t bytes_of(const ArrayLayout& layout, const std::string& name) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements(layout.shape), static_cast<std::int64_t>(size_of(layout.type)), &bytes))
    throw Error("'" + name + "' declares a shape of " + to_string(layout.shape) +
                ", beyond any file: it is damaged");
  return static_cast<std::size_t>(bytes);
}

Tensor import_elements(const ArrayLayout& layout, const Bytes& bytes, std::optional<DType> as) {
  const std::size_t each = size_of(layout.type);
  if (bytes_of(layout, bytes.name) != bytes.size)
    throw Error("'" + bytes.name + "' holds " + std::to_string(bytes.size) + " bytes, but " +
                name_of(layout.type) + " of shape " + to_string(layout.shape) + " takes " +
                std::to_string(bytes_of(layout, bytes.name)) + ": it is damaged or cut off");
  std::optional<DType> held = float_format(layout.type);
  const bool asked16 = as == DType::bf16 || as == DType::f16;
  if (asked16 && (layout.type == ElementType::u16 || layout.type == ElementType::bits16)) held = as;
  const DType wanted = as.value_or(held.value_or(DType::f64));

  const bool c_order = !layout.fortran_order || layout.shape.size() < 2;
  const bool native = !layout.big_endian || each == 1;
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data) % each == 0;
  if (held == wanted && c_order && native && aligned && bytes.size > 0)
    return {wanted, layout.shape, std::shared_ptr<void>(bytes.owner, bytes.data)};

  Tensor t = make_tensor(wanted, layout.shape);
  const std::int64_t n = t.size();
  if (held == wanted && c_order && native) {
    if (bytes.size > 0) std::memcpy(t.data.get(), bytes.data, bytes.size);
    return t;
  }
  FileOrder order(layout.shape, layout.fortran_order);
  for (std::int64_t i = 0; i < n; ++i, order.next()) {
    const std::uint64_t bits =
        load(bytes.data + static_cast<std::size_t>(order.position()) * each, each, layout.big_endian);
    if (held == wanted) {
      store(t, i, bits);
      continue;
    }
    const double value = held ? value_of_bits(*held, bits) : integer_value(layout.type, bits);
    const std::uint64_t converted = round_to_bits(wanted, value);
    const bool exact = std::isnan(value) ? held.has_value() : value_of_bits(wanted, converted) == value;
    // >=: 2^53 + 1 has already become 2^53 here.
    if (!exact || (!held && each == 8 && std::abs(value) >= kExactIntegers))
      throw Error("'" + bytes.name + "' cannot be read as " + name_of(wanted) + ": element " +
                  std::to_string(i) + " (" + name_of(layout.type) + ") has no exact value there");
    store(t, i, converted);
  }
  return t;
}

}  // namespace ulpscope
