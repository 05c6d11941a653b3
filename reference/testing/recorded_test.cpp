#include "reference/testing/recorded.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "reference/error.hpp"

namespace ulpscope::testing {
namespace {

std::uint64_t little(const std::string& s, std::size_t at, int bytes) {
  std::uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; --i)
    v = v << 8 | static_cast<unsigned char>(s.at(at + static_cast<std::size_t>(i)));
  return v;
}

// Member name -> its bytes, from the central directory.
std::map<std::string, std::string> members(const std::string& archive) {
  const std::string path = std::string(ULPSCOPE_SOURCE_DIR) + "/reports/recorded/" +
                           (archive.find('/') == std::string::npos ? "pytorch-2.11-h200/" : "") + archive +
                           ".npz";
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot open " + path);
  const std::string zip((std::istreambuf_iterator<char>(in)), {});
  const std::size_t end = zip.rfind("PK\5\6");
  std::map<std::string, std::string> found;
  std::size_t at = little(zip, end + 16, 4);
  for (std::uint64_t i = 0; i < little(zip, end + 10, 2); ++i) {
    const std::size_t size = little(zip, at + 24, 4), name = little(zip, at + 28, 2);
    const std::size_t local = little(zip, at + 42, 4);
    const std::size_t data = local + 30 + little(zip, local + 26, 2) + little(zip, local + 28, 2);
    std::string key = zip.substr(at + 46, name);
    found[key.substr(0, key.rfind(".npy"))] = zip.substr(data, size);
    at += 46 + name + little(zip, at + 30, 2) + little(zip, at + 32, 2);
  }
  return found;
}

}  // namespace

std::vector<std::string> recorded_names(const std::string& archive) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : members(archive)) names.push_back(name);
  return names;
}

RawArray recorded_array(const std::string& archive, const std::string& name) {
  const auto all = members(archive);
  const auto it = all.find(name);
  if (it == all.end()) throw Error("no array " + name + " in " + archive);
  const std::string& npy = it->second;
  const std::size_t header = little(npy, 8, 2);
  const std::string text = npy.substr(10, header);
  RawArray array;
  const std::size_t type = text.find('\'', text.find(':')) + 1;
  array.type = text.substr(type, text.find('\'', type) - type);
  const std::size_t open = text.find('(');
  std::int64_t value = -1;
  for (std::size_t i = open + 1; i <= text.find(')'); ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      value = (value < 0 ? 0 : value * 10) + (text[i] - '0');
    } else if (value >= 0) {
      array.shape.push_back(value);
      value = -1;
    }
  }
  array.bytes.assign(npy.begin() + static_cast<std::ptrdiff_t>(10 + header), npy.end());
  return array;
}

Tensor recorded_tensor(const std::string& archive, const std::string& name) {
  const RawArray raw = recorded_array(archive, name);
  if (raw.type != "<f4") throw Error(name + " is not an array of floats");
  Tensor t = make_tensor(DType::f32, raw.shape);
  std::memcpy(t.data.get(), raw.bytes.data(), raw.bytes.size());
  return t;
}

TEST(Recorded, ArraysHaveTheIndexedShapes) {
  const RawArray a = recorded_array("mma_tf32", "a");
  EXPECT_EQ(a.type, "<f4");
  EXPECT_EQ(a.shape, (Shape{9216, 8}));
  EXPECT_EQ(a.bytes.size(), 9216u * 8 * 4);
  EXPECT_THROW(recorded_array("mma_tf32", "z"), Error);
}

}  // namespace ulpscope::testing
