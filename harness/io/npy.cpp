#include "harness/io/npy.hpp"

#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "harness/io/atomic_file.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The header is a Python dictionary literal with exactly the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  ArrayLayout parse() {
    ArrayLayout layout;
    bool have_type = false, have_order = false, have_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(have_type, true)) {
        set_type(layout);
      } else if (key == "fortran_order" && !std::exchange(have_order, true)) {
        layout.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(have_shape, true)) {
        layout.shape = tuple();
      } else {
        fail("unexpected or repeated key '" + key + "'");
      }
      if (!accept(',') && peek() != '}') fail("expected ',' or '}'");
    }
    if (peek() != '\0') fail("text after the dictionary");
    if (!have_type || !have_order || !have_shape) fail("descr, fortran_order or shape is missing");
    return layout;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("'" + file_ + "' has a damaged .npy header (" + what + "): save it again with numpy.save");
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a quoted word");
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos || end - at_ > 32) fail("a word does not end");
    std::string word(text_.substr(at_, end - at_));
    for (const char c : word)
      if (c < ' ' || c > '~') fail("a word with odd characters");
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view(word).size();
        return value;
      }
    fail("expected True or False");
  }
  std::int64_t number() {
    if (!std::isdigit(static_cast<unsigned char>(peek()))) fail("expected a size");
    std::int64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail("a size beyond 63 bits");
    accept('L');  // Python 2 wrote long integers so
    return value;
  }
  Shape tuple() {
    constexpr std::size_t kMostAxes = 64;  // NumPy's own limit
    Shape shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(number());
      if (shape.size() > kMostAxes) fail("more than 64 axes");
      if (!accept(',') && peek() != ')') fail("expected ',' or ')'");
    }
    return shape;
  }
  void set_type(ArrayLayout& layout) {
    if (peek() == '[') unsupported("a structured type");
    const std::string descr = quoted();
    static constexpr std::array<std::pair<std::string_view, ElementType>, 14> kNames{
        {{"f8", ElementType::f64},
         {"f4", ElementType::f32},
         {"f2", ElementType::f16},
         {"V2", ElementType::bits16},
         {"b1", ElementType::boolean},
         {"i1", ElementType::i8},
         {"u1", ElementType::u8},
         {"i2", ElementType::i16},
         {"u2", ElementType::u16},
         {"i4", ElementType::i32},
         {"u4", ElementType::u32},
         {"i8", ElementType::i64},
         {"u8", ElementType::u64},
         {"bfloat16", ElementType::bf16}}};
    std::string_view name = descr;
    const char order = name.empty() ? '\0' : name.front();
    if (order == '<' || order == '>' || order == '|' || order == '=') name.remove_prefix(1);
    for (const auto& [known, type] : kNames)
      if (name == known) {
        // '|' says that order does not apply: true of bytes and of V2, which has no order of its own.
        if (order == '|' && size_of(type) > 1 && type != ElementType::bits16) unsupported("'" + descr + "'");
        layout.type = type;
        layout.big_endian = order == '>';
        return;
      }
    unsupported("'" + descr + "'");
  }
  [[noreturn]] void unsupported(const std::string& type) const {
    throw Error("'" + file_ + "' has element type " + type +
                ": save floats (f8, f4, f2, bfloat16) or integers");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

std::uint32_t little_endian(const std::byte* p, int bytes) {
  std::uint32_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(p[i]);
  return value;
}

}  // namespace

Tensor read_npy(const Bytes& file, std::optional<DType> as) {
  if (!file.text().starts_with(kMagic))
    throw Error("'" + file.name + "' is no .npy array (its first bytes are not \\x93NUMPY)");
  auto cut = [&]() -> Error {
    return Error("'" + file.name + "' ends within its .npy header: it was cut off, copy it again");
  };
  if (file.size < 10) throw cut();
  const int version = std::to_integer<int>(file.data[6]);
  if (version < 1 || version > 3)
    throw Error("'" + file.name + "' has .npy format version " + std::to_string(version) +
                ": only 1 to 3 are known");
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (file.size < prefix) throw cut();
  const std::size_t length = little_endian(file.data + 8, version == 1 ? 2 : 4);
  if (file.size - prefix < length) throw cut();
  const ArrayLayout layout = HeaderParser(file.text().substr(prefix, length), file.name).parse();
  const std::size_t begin = prefix + length;
  const std::size_t need = bytes_of(layout, file.name);
  if (file.size - begin < need)
    throw Error("'" + file.name + "' ends after " + std::to_string(file.size - begin) + " of " +
                std::to_string(need) + " data bytes: it was cut off, copy it again");
  if (file.size - begin > need)
    throw Error("'" + file.name + "' has " + std::to_string(file.size - begin - need) +
                " bytes after its data: it is damaged, save it again");
  return import_elements(layout, file.part(begin, need), as);
}

std::string npy_header(DType dtype, const Shape& shape) {
  static constexpr std::array<const char*, 4> kDescr{"<f8", "<f4", "<f2", "<V2"};  // as DType
  std::string dictionary = "{'descr': '" + std::string(kDescr[static_cast<std::size_t>(dtype)]) +
                           "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) dictionary += std::to_string(extent) + ", ";
  if (shape.size() > 1) dictionary.resize(dictionary.size() - 2);
  if (shape.size() == 1) dictionary.pop_back();
  dictionary += "), }";
  constexpr std::size_t kPrefix = 10;
  const std::size_t padded = (kPrefix + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.append(padded - kPrefix - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

void write_npy(const std::string& path, const TensorView& tensor) {
  AtomicFile file(path);
  std::FILE* out = std::fopen(file.beside().c_str(), "wbe");
  if (!out) throw Error("cannot create '" + file.beside() + "': check the folder's permissions");
  const std::string header = npy_header(tensor.dtype, tensor.shape);
  const bool written = std::fwrite(header.data(), 1, header.size(), out) == header.size() &&
                       std::fwrite(tensor.data, 1, tensor.bytes(), out) == tensor.bytes();
  if (std::fclose(out) != 0 || !written) throw Error("cannot write '" + path + "': is the disk full?");
  file.commit();
}

}  // namespace ulpscope
