#include "harness/io/safetensors.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/io/read_json.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::size_t kPrefix = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

constexpr std::array<std::pair<std::string_view, ElementType>, 13> kTypes{{{"F64", ElementType::f64},
                                                                           {"F32", ElementType::f32},
                                                                           {"F16", ElementType::f16},
                                                                           {"BF16", ElementType::bf16},
                                                                           {"BOOL", ElementType::boolean},
                                                                           {"I8", ElementType::i8},
                                                                           {"U8", ElementType::u8},
                                                                           {"I16", ElementType::i16},
                                                                           {"U16", ElementType::u16},
                                                                           {"I32", ElementType::i32},
                                                                           {"U32", ElementType::u32},
                                                                           {"I64", ElementType::i64},
                                                                           {"U64", ElementType::u64}}};

std::optional<std::int64_t> size_in(const nlohmann::json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value.get<std::uint64_t>());
}

}  // namespace

Safetensors::Safetensors(Bytes file) : file_(std::move(file)) {
  auto damaged = [&](const std::string& why) {
    return Error("'" + file_.name + "' is no readable safetensors file (" + why + "): save it again");
  };
  if (file_.size < kPrefix) throw damaged("it is shorter than eight bytes");
  std::uint64_t length;
  std::memcpy(&length, file_.data, kPrefix);
  if (length > kLongestHeader) throw damaged("its header is longer than the format allows");
  if (length > file_.size - kPrefix) throw damaged("its header is cut off");
  nlohmann::json header;
  try {
    header = read_json(file_.text().substr(kPrefix, length));
  } catch (const Error& e) {
    throw damaged(std::string("its header: ") + e.what());
  }
  if (!header.is_object()) throw damaged("its header is no JSON object");
  const std::size_t data = kPrefix + static_cast<std::size_t>(length);
  for (const auto& [name, item] : header.items()) {
    if (name == "__metadata__") continue;
    if (!item.is_object() || !item.contains("dtype") || !item["dtype"].is_string() ||
        !item.contains("shape") || !item["shape"].is_array() || !item.contains("data_offsets") ||
        !item["data_offsets"].is_array() || item["data_offsets"].size() != 2)
      throw damaged("the entry of '" + name + "' lacks dtype, shape or data_offsets");
    Entry e;
    for (const auto& extent : item["shape"]) {
      const auto n = size_in(extent);
      if (!n) throw damaged("the shape of '" + name + "' is none");
      e.layout.shape.push_back(*n);
    }
    const auto from = size_in(item["data_offsets"][0]), to = size_in(item["data_offsets"][1]);
    if (!from || !to || *from > *to || static_cast<std::size_t>(*to) > file_.size - data)
      throw damaged("'" + name + "' lies outside the file");
    e.begin = data + static_cast<std::size_t>(*from);
    e.end = data + static_cast<std::size_t>(*to);
    const std::string type = item["dtype"];
    bool known = false;
    for (const auto& [text, element] : kTypes)
      if (type == text) {
        e.layout.type = element;
        known = true;
      }
    if (!known) e.unsupported = type;
    entries_.emplace(name, std::move(e));
  }
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> list;
  for (const auto& [name, entry] : entries_) list.push_back(name);
  return list;
}

Tensor Safetensors::read(const std::string& name, std::optional<DType> as) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    throw Error("'" + file_.name + "' holds no tensor '" + name + "'" + suggestion(name, names()));
  const Entry& e = found->second;
  if (!e.unsupported.empty())
    throw Error("'" + file_.name + ":" + name + "' has element type " + e.unsupported +
                ": save it as F64, F32, F16, BF16 or integers");
  Bytes bytes = file_.part(e.begin, e.end - e.begin);
  bytes.name += ":" + name;
  return import_elements(e.layout, bytes, as);
}

}  // namespace ulpscope
