#include "harness/io/read_tensor.hpp"

#include <charconv>
#include <filesystem>
#include <string_view>

#include "harness/io/npy.hpp"
#include "harness/io/npz.hpp"
#include "harness/io/safetensors.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

enum class Kind { npy, npz, safetensors, raw };

Kind kind_of(const Bytes& file) {
  if (file.text().starts_with("\x93NUMPY") || file.name.ends_with(".npy")) return Kind::npy;
  // PK\5\6 begins an archive without members.
  if (file.text().starts_with("PK\3\4") || file.text().starts_with("PK\5\6") || file.name.ends_with(".npz"))
    return Kind::npz;
  if (file.name.ends_with(".safetensors")) return Kind::safetensors;
  return Kind::raw;
}

// The only array, or an Error that lists the choices.
std::string only_name(const std::vector<std::string>& names, const std::string& file) {
  if (names.size() == 1) return names.front();
  if (names.empty()) throw Error("'" + file + "' holds no arrays: save it with numpy.savez");
  throw Error("'" + file + "' holds " + std::to_string(names.size()) + " arrays: name one as " + file + ":" +
              names.front() + suggestion("", names));
}

Tensor read_raw(const Bytes& file, const std::string& description, std::optional<DType> as) {
  const std::size_t colon = description.find(':');
  if (colon == std::string::npos)
    throw Error("'" + file.name +
                "' is neither .npy, .npz nor .safetensors: for raw data give its format and " + "shape, as " +
                file.name + ":fp32:32x64x5");
  ArrayLayout layout;
  switch (parse_dtype(description.substr(0, colon))) {
    case DType::f64:
      layout.type = ElementType::f64;
      break;
    case DType::f32:
      layout.type = ElementType::f32;
      break;
    case DType::f16:
      layout.type = ElementType::f16;
      break;
    case DType::bf16:
      layout.type = ElementType::bf16;
      break;
  }
  layout.shape = parse_shape(description.substr(colon + 1));
  return import_elements(layout, file, as);
}

}  // namespace

Shape parse_shape(const std::string& text) {
  if (text == "scalar") return {};
  Shape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t extent = 0;
    const auto [stop, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) throw Error("'" + text + "' is no shape: give sizes as 32x64x5");
    shape.push_back(extent);
    if (stop == end) return shape;
    if (*stop != 'x' && *stop != ',') throw Error("'" + text + "' is no shape: give sizes as 32x64x5");
    at = stop + 1;
  }
}

Tensor read_tensor(const Bytes& file, const std::string& name, std::optional<DType> as) {
  switch (kind_of(file)) {
    case Kind::npy:
      if (!name.empty()) throw Error("'" + file.name + "' holds one array: leave out ':" + name + "'");
      return read_npy(file, as);
    case Kind::npz: {
      const Npz archive(file);
      return archive.read(name.empty() ? only_name(archive.arrays(), file.name) : name, as);
    }
    case Kind::safetensors: {
      const Safetensors tensors(file);
      return tensors.read(name.empty() ? only_name(tensors.names(), file.name) : name, as);
    }
    case Kind::raw:
      break;
  }
  return read_raw(file, name, as);
}

Tensor read_tensor(const std::string& spec, std::optional<DType> as) {
  // File names may hold colons themselves, so the longest prefix that exists is the file.
  for (std::size_t end = spec.size(); end != std::string::npos && end > 0; end = spec.rfind(':', end - 1)) {
    std::error_code ignored;
    if (const std::string path = spec.substr(0, end); std::filesystem::exists(path, ignored))
      return read_tensor(map_file(path), end < spec.size() ? spec.substr(end + 1) : "", as);
    if (end == 0) break;
  }
  throw Error("there is no file '" + spec.substr(0, spec.find(':')) + "': check the path");
}

std::vector<std::string> tensor_names(const std::string& path) {
  const Bytes file = map_file(path);
  switch (kind_of(file)) {
    case Kind::npz:
      return Npz(file).arrays();
    case Kind::safetensors:
      return Safetensors(file).names();
    default:
      throw Error("'" + path + "' is neither .npz nor .safetensors: it holds no named arrays");
  }
}

}  // namespace ulpscope
