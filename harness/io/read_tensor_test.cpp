#include "harness/io/read_tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/io/atomic_file.hpp"
#include "harness/io/npy.hpp"
#include "harness/io/npz.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kSeeds = ULPSCOPE_SOURCE_DIR "/harness/fuzz/seeds/";  // written by NumPy 2.4
const std::string kRecorded = ULPSCOPE_SOURCE_DIR "/reports/recorded/pytorch-2.11-h200/";

std::vector<double> values(const Tensor& t) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < t.size(); ++i) v.push_back(t.view().at(i));
  return v;
}

const std::vector<double> kRamp{-0.5, -0.25, 0, 0.25, 0.5, 0.75};

class Folder : public testing::Test {
 protected:
  Folder()
      : path(testing::TempDir() + "/ulpscope_" +
             testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() override { fs::remove_all(path); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path + "/" + name, std::ios::binary) << content;
    return path + "/" + name;
  }
  static std::string content(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  const std::string path;
};

using ReadTensor = Folder;

TEST_F(ReadTensor, NumpyArraysOfEveryKindGiveTheSameValues) {
  for (const char* name : {"f4_c", "f4_fortran", "f4_big", "version2", "version3"}) {
    const Tensor t = read_tensor(kSeeds + "npy/" + name + ".npy");
    EXPECT_EQ(t.dtype, DType::f32) << name;
    EXPECT_EQ(t.shape, (Shape{2, 3})) << name;
    EXPECT_EQ(values(t), kRamp) << name;
  }
  EXPECT_EQ(read_tensor(kSeeds + "npy/f8.npy").dtype, DType::f64);
  EXPECT_EQ(read_tensor(kSeeds + "npy/f2.npy").dtype, DType::f16);
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/f8.npy")), kRamp);
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/f2.npy")), kRamp);
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/i8.npy")), (std::vector<double>{-3, 0, 7}));
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/bool.npy")), (std::vector<double>{1, 0}));
  const Tensor scalar = read_tensor(kSeeds + "npy/scalar.npy");
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(values(scalar), (std::vector<double>{2.5}));
}

TEST_F(ReadTensor, SixteenBitPatternsAreReadAsAsked) {
  const Tensor voids = read_tensor(kSeeds + "npy/bf16.npy");
  EXPECT_EQ(voids.dtype, DType::bf16);
  EXPECT_EQ(values(voids), (std::vector<double>{1, -2}));
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/u2.npy", DType::bf16)), (std::vector<double>{1, -2}));
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/u2.npy", DType::f16)), (std::vector<double>{1.875, -2}));
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/u2.npy")), (std::vector<double>{0x3f80, 0xc000}));
}

TEST_F(ReadTensor, ConversionsAreExactOrRefused) {
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/f4_c.npy", DType::bf16)), kRamp);
  EXPECT_EQ(values(read_tensor(kSeeds + "npy/f2.npy", DType::f64)), kRamp);
  file("tenth.npy", npy_header(DType::f32, {1}) + std::string("\xcd\xcc\xcc\x3d", 4));
  EXPECT_THAT([&] { read_tensor(path + "/tenth.npy", DType::bf16); },
              testing::ThrowsMessage<Error>(HasSubstr("element 0 (float32) has no exact value")));
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  std::string header = npy_header(DType::f64, {1});
  header.replace(header.find("<f8"), 3, "<i8");
  file("big.npy", header + std::string(reinterpret_cast<const char*>(&big), 8));
  EXPECT_THROW(read_tensor(path + "/big.npy"), Error);
}

TEST_F(ReadTensor, ArchivesStoredAndDeflated) {
  EXPECT_EQ(values(read_tensor(kSeeds + "npz/stored.npz:x")), kRamp);
  EXPECT_EQ(values(read_tensor(kSeeds + "npz/stored.npz:x.npy")), kRamp);
  EXPECT_EQ(values(read_tensor(kSeeds + "npz/deflated.npz:x")), kRamp);
  EXPECT_EQ(values(read_tensor(kSeeds + "npz/one.npz")), kRamp);
  EXPECT_THAT(tensor_names(kSeeds + "npz/stored.npz"), testing::UnorderedElementsAre("x", "k"));
}

TEST_F(ReadTensor, RecordedOutputsAreReadable) {
  const Tensor y = read_tensor(kRecorded + "conv2d_pointwise_uniform.npz:y_fp32");
  EXPECT_EQ(y.shape, (Shape{1, 128, 1, 512}));
  EXPECT_EQ(read_tensor(kRecorded + "mma_bf16.npz:a", DType::bf16).dtype, DType::bf16);
}

TEST_F(ReadTensor, Safetensors) {
  const std::string file = kSeeds + "safetensors/three.safetensors";
  EXPECT_EQ(values(read_tensor(file + ":x")), kRamp);
  EXPECT_EQ(values(read_tensor(file + ":h")), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(values(read_tensor(file + ":b")), (std::vector<double>{1, -2}));
  EXPECT_EQ(values(read_tensor(kSeeds + "safetensors/one.safetensors")), (std::vector<double>{0.1}));
  EXPECT_EQ(values(read_tensor(kSeeds + "safetensors/f8.safetensors:i")), (std::vector<double>{5, -6}));
}

TEST_F(ReadTensor, RawBytesWithFormatAndShapeEvenIfTheNameHoldsAColon) {
  const std::string name = file("y:1.bin", std::string("\x80\x3f\x00\xc0", 4));
  EXPECT_EQ(values(read_tensor(name + ":bf16:1x2")), (std::vector<double>{1, -2}));
  EXPECT_EQ(read_tensor(name + ":bf16:1x2").shape, (Shape{1, 2}));
  EXPECT_EQ(read_tensor(name + ":fp16:2,1").shape, (Shape{2, 1}));
}

TEST_F(ReadTensor, WhatWeWriteIsMappedBackWithoutACopy) {
  Tensor x = make_tensor(DType::f32, {3, 5}), h = make_tensor(DType::bf16, {7});
  for (int i = 0; i < 15; ++i) x.as<float>()[i] = static_cast<float>(i) * 0.1f;
  for (int i = 0; i < 7; ++i) h.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x3f80 + i);
  const std::string name = path + "/sub/folder/out.npz";
  const NpzMember members[] = {
      {"meta.json", {}, "{\"a\": 1}"}, {"x.npy", x.view(), ""}, {"window_000.npy", h.view(), ""}};
  write_npz(name, members);
  const Bytes file = map_file(name);
  const Npz archive(file);
  EXPECT_EQ(archive.bytes("meta.json").text(), "{\"a\": 1}");
  const Tensor x2 = archive.read("x"), h2 = archive.read("window_000");
  ASSERT_EQ(x2.shape, x.shape);
  EXPECT_EQ(std::memcmp(x2.data.get(), x.data.get(), 60), 0);
  ASSERT_EQ(h2.dtype, DType::bf16);
  EXPECT_EQ(std::memcmp(h2.data.get(), h.data.get(), 14), 0);
  for (const Tensor* t : {&x2, &h2}) {
    const auto* p = static_cast<const std::byte*>(t->data.get());
    EXPECT_TRUE(p >= file.data && p < file.data + file.size) << "copied";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
  }
  const std::string first = content(name);
  write_npz(name, members);
  EXPECT_EQ(content(name), first) << "same content, same bytes";
  EXPECT_EQ(std::distance(fs::directory_iterator(path + "/sub/folder"), fs::directory_iterator{}), 1);

  write_npy(path + "/x.npy", x.view());
  EXPECT_EQ(values(read_tensor(path + "/x.npy")), values(x));
}

TEST_F(ReadTensor, AMappedTensorMayBeWrittenOnWithoutChangingTheFile) {
  const std::string name = file("x.npy", content(kSeeds + "npy/f4_c.npy"));
  Tensor t = read_tensor(name);
  t.as<float>()[0] = 99;
  EXPECT_EQ(values(read_tensor(name)), kRamp);
}

TEST_F(ReadTensor, AnUncommittedFileLeavesNothingAndKeepsTheOldOne) {
  const std::string name = file("record.json", "old");
  {
    AtomicFile half(name);
    std::ofstream(half.beside()) << "ne";
  }
  EXPECT_EQ(content(name), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator{}), 1);
  write_text(name, "new");
  EXPECT_EQ(content(name), "new");
}

// ---- malformed files: each ends in one line that says what to do
// -------------------------------------------

class Malformed : public Folder {
 protected:
  // The error's text for a file of this name and content, read as `name + suffix`.
  std::string error(const std::string& name, const std::string& bytes, const std::string& suffix = "") const {
    try {
      read_tensor(file(name, bytes) + suffix);
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    ADD_FAILURE() << name << suffix << " was accepted";
    return "";
  }
  std::string header(const std::string& from, const std::string& to) const {
    std::string h = npy_header(DType::f32, {2, 3});
    const auto at = h.find(from);
    EXPECT_NE(at, std::string::npos);
    h.replace(at, from.size(), to);
    h[8] = static_cast<char>(h.size() - 10);
    return h + std::string(24, '\0');
  }
};

TEST_F(Malformed, NpyHeaders) {
  const std::string good = content(kSeeds + "npy/f4_c.npy");
  EXPECT_THAT(error("a.npy", ""), HasSubstr("no .npy array"));
  EXPECT_THAT(error("a.npy", good.substr(0, 9)), HasSubstr("cut off"));
  EXPECT_THAT(error("a.npy", good.substr(0, 40)), HasSubstr("cut off"));
  EXPECT_THAT(error("a.npy", good.substr(0, good.size() - 1)), HasSubstr("ends after 23 of 24 data bytes"));
  EXPECT_THAT(error("a.npy", good + "x"), HasSubstr("1 bytes after its data"));
  EXPECT_THAT(error("a.npy", std::string("\x93NUMPY\x04\x00", 8) + good.substr(8)),
              HasSubstr("format version 4"));
  EXPECT_THAT(error("a.npy", header("<f4", "<c8")), HasSubstr("'<c8'"));
  EXPECT_THAT(error("a.npy", header("'<f4'", "[('x', '<f4')]")), HasSubstr("structured"));
  EXPECT_THAT(error("a.npy", header("'<f4'", "'|O'")), HasSubstr("element type"));
  EXPECT_THAT(error("a.npy", header("'<f4'", "'|f4'")), HasSubstr("element type"));
  EXPECT_THAT(error("a.npy", header("False", "Maybe")), HasSubstr("True or False"));
  EXPECT_THAT(error("a.npy", header("(2, 3)", "(2, -3)")), HasSubstr("expected a size"));
  EXPECT_THAT(error("a.npy", header("(2, 3)", "(99999999999999999999,)")), HasSubstr("63 bits"));
  EXPECT_THAT(error("a.npy", header("(2, 3)", "(4611686018427387904, 4)")), HasSubstr("63 bits"));
  EXPECT_THAT(error("a.npy", header("(2, 3)", "(1152921504606846976, 4)")), HasSubstr("damaged"));
  EXPECT_THAT(error("a.npy", header("(2, 3)", "(2, 3")), HasSubstr("damaged .npy header"));
  EXPECT_THAT(error("a.npy", header("'shape': (2, 3), ", "")), HasSubstr("missing"));
  EXPECT_THAT(error("a.npy", header("'shape'", "'descr'")), HasSubstr("repeated key 'descr'"));
}

TEST_F(Malformed, Archives) {
  const std::string good = content(kSeeds + "npz/stored.npz");
  EXPECT_THAT(error("a.npz", ""), HasSubstr("empty"));
  EXPECT_THAT(error("a.npz", "hello"), HasSubstr("no readable .npz archive"));
  for (const std::size_t kept : {good.size() - 1, good.size() - 30, good.size() / 2, std::size_t{30}})
    EXPECT_THAT(error("a.npz", good.substr(0, kept), ":x"), HasSubstr("cut off")) << kept;
  EXPECT_THAT(error("a.npz", good, ":y"), HasSubstr("use x or k"));
  EXPECT_THAT(error("a.npz", good), HasSubstr("holds 2 arrays"));
  EXPECT_THAT(error("a.npz", std::string("PK\5\6") + std::string(18, '\0')), HasSubstr("no arrays"));
  std::string flipped = good;  // one bit of x's data: only the checksum can tell
  flipped[flipped.find("NUMPY") + 130] ^= 1;
  EXPECT_THAT(error("a.npz", flipped, ":x"), HasSubstr("CRC error"));
  std::string deflated = content(kSeeds + "npz/deflated.npz");
  deflated[60] ^= 0x55;
  EXPECT_THAT(error("a.npz", deflated, ":x"), HasSubstr("damaged"));
}

TEST_F(Malformed, ArchiveWithAMistypedName) {
  EXPECT_THAT([&] { read_tensor(kRecorded + "conv2d_pointwise_uniform.npz:y_fp23"); },
              testing::ThrowsMessage<Error>(HasSubstr("did you mean 'y_fp32'?")));
}

TEST_F(Malformed, SafetensorsFiles) {
  const std::string good = content(kSeeds + "safetensors/three.safetensors");
  auto with = [&](const std::string& json, const std::string& data = "") {
    const std::uint64_t n = json.size();
    return std::string(reinterpret_cast<const char*>(&n), 8) + json + data;
  };
  const std::string a = "a.safetensors";
  EXPECT_THAT(error(a, "abc"), HasSubstr("shorter than eight bytes"));
  EXPECT_THAT(error(a, good.substr(0, 60)), HasSubstr("header is cut off"));
  EXPECT_THAT(error(a, good.substr(0, good.size() - 1), ":x"), HasSubstr("outside the file"));
  EXPECT_THAT(error(a, std::string(8, '\xff')), HasSubstr("longer than the format allows"));
  EXPECT_THAT(error(a, with("[1]")), HasSubstr("no JSON object"));
  EXPECT_THAT(error(a, with("{")), HasSubstr("its header: it is no JSON"));
  EXPECT_THAT(error(a, with(std::string(99, '['))), HasSubstr("its header: it is nested too deeply"));
  EXPECT_THAT(error(a, with("{\"x\": 1}")), HasSubstr("lacks dtype"));
  EXPECT_THAT(error(a, with(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234")),
              HasSubstr("shape of 'x'"));
  EXPECT_THAT(error(a, with(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234")),
              HasSubstr("outside"));
  EXPECT_THAT(error(a, with(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234")),
              HasSubstr("holds 4 bytes"));
  EXPECT_THAT(error(a, content(kSeeds + "safetensors/f8.safetensors"), ":q"), HasSubstr("F8_E4M3"));
  EXPECT_THAT(error(a, good, ":y"), HasSubstr("use b, h or x"));
}

TEST_F(Malformed, RawFilesAndPaths) {
  EXPECT_THAT(error("a.bin", "1234"), HasSubstr("give its format and shape"));
  EXPECT_THAT(error("a.bin", "1234", ":fp32:2"), HasSubstr("takes 8"));
  EXPECT_THAT(error("a.bin", "1234", ":fp33:1"), HasSubstr("unknown number format 'fp33'"));
  EXPECT_THAT(error("a.bin", "1234", ":fp32:1y"), HasSubstr("no shape"));
  EXPECT_THAT(error("a.bin", "1234", ":fp32:-1"), HasSubstr("no shape"));
  EXPECT_THAT(error("a.npy", content(kSeeds + "npy/f8.npy"), ":x"), HasSubstr("holds one array"));
  EXPECT_THAT([&] { read_tensor(path + "/missing.npz:x"); },
              testing::ThrowsMessage<Error>(HasSubstr("there is no file")));
  EXPECT_THAT([&] { read_tensor(path); }, testing::ThrowsMessage<Error>(HasSubstr("not a regular file")));
  EXPECT_THAT([&] { read_tensor(""); }, testing::ThrowsMessage<Error>(HasSubstr("there is no file")));
}

}  // namespace
}  // namespace ulpscope
