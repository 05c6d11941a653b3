// Damaged files before their readers.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/capture.hpp"
#include "harness/inputs.hpp"
#include "harness/io/npy.hpp"
#include "harness/selftest/selftest.hpp"
#include "harness/suite.hpp"
#include "reference/error.hpp"
#include "reports/record_view.hpp"

namespace ulpscope::selftest {
namespace {

namespace fs = std::filesystem;

Capture small_capture() {
  Capture c;
  c.test = parse_case("gemm 4x8 * 8x16 a=normal b=normal seed=1");
  c.test.name = "self-test";
  c.variant = "planted";
  c.executed = "host";
  c.input_hash = "in";
  Tensor bits = make_tensor(DType::f32, {64});
  for (int i = 0; i < 64; ++i) bits.as<float>()[i] = static_cast<float>(i) / 8;
  c.windows.push_back({0, bits});
  c.output_hash = hash_bytes(bits.data.get(), bits.view().bytes(), 1);
  return c;
}

/// A capture's file, altered and read again.
std::string reread(const std::function<void(Capture&)>& change,
                   const std::function<void(std::string&)>& damage) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("ulpscope-self-test-{}", getpid());
  const std::string path = (folder / "c.npz").string();
  std::string noticed;
  try {
    Capture c = small_capture();
    change(c);
    write_capture(path, c);
    std::string bytes;
    {
      std::ifstream in(path, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    damage(bytes);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const Capture back = read_capture(path);
    if (back.windows.size() != 1 || back.windows[0].bits.size() != 64)
      noticed = "read otherwise than written";
  } catch (const Error& e) {
    noticed = e.what();
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return noticed;
}

Plant damaged(const std::string& what, const std::function<void(std::string&)>& damage,
              bool control = false) {
  return {"reader", what, [damage] { return reread([](Capture&) {}, damage); }, control};
}

Plant contradicting(const std::string& what, const std::function<void(Capture&)>& change) {
  return {"reader", what, [change] { return reread(change, [](std::string&) {}); }};
}

std::string read_record_text(const std::string& text) {
  try {
    parse_record_view(text, "planted");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

const std::string kRow = R"({"case":"a","variant":"v","mode":"fp32","verdict":"bounded","outputs":4})";

std::string record_text(const std::string& rows, const std::string& schema = "ulpscope.run/1") {
  return R"({"schema":")" + schema + R"(","environment":{"version":"1"},"results":[)" + rows + "]}";
}

Plant record(const std::string& what, const std::string& text, bool control = false) {
  return {"reader", what, [text] { return read_record_text(text); }, control};
}

}  // namespace

std::vector<Plant> file_plants() {
  const std::string whole = record_text(kRow);
  std::string word = kRow;
  word.replace(word.find("bounded"), 7, "perfect");
  std::string text = kRow;
  text.replace(text.find(":4"), 2, ":\"many\"");
  return {
      damaged(
          "a whole capture", [](std::string&) {}, true),
      damaged("a capture that was cut off", [](std::string& b) { b.resize(b.size() / 2); }),
      damaged("a flipped bit in a stored output",
              [](std::string& b) {
                // The 40th float, 4.875f, as it lies in the file.
                const float x = 4.875f;
                char bytes[4];
                std::memcpy(bytes, &x, 4);
                const std::size_t at = b.find(std::string(bytes, 4));
                b.at(at) = static_cast<char>(b.at(at) ^ 1);
              }),
      damaged("an empty file for a capture", [](std::string& b) { b.clear(); }),
      contradicting("an output that misses its hash",
                    [](Capture& c) { c.windows[0].bits.as<float>()[63] = 1e9f; }),
      contradicting("a window beyond the output", [](Capture& c) { c.windows[0].begin = 8; }),
      record("a record", whole, true),
      record("a record that was cut off", whole.substr(0, whole.size() - 10)),
      record("a record of another schema", record_text(kRow, "ulpscope.run/0")),
      record("the same result twice", record_text(kRow + "," + kRow)),
      record("a verdict that is no word", record_text(word)),
      record("a text for a number", record_text(text)),
      {"reader", "an array that was cut off",
       [] {
         const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
         std::string file("\x93NUMPY\x01\x00", 8);
         std::string padded = header + std::string((64 - (10 + header.size() + 1) % 64) % 64, ' ') + "\n";
         file += static_cast<char>(padded.size() & 255);
         file += static_cast<char>(padded.size() >> 8);
         file += padded + std::string(12, '\0');  // three floats of four
         try {
           read_npy(copy_bytes(file.data(), file.size(), "planted.npy"));
           return std::string();
         } catch (const Error& e) {
           return std::string(e.what());
         }
       }},
      {"reader", "a suite that selects nothing",
       [] {
         try {
           parse_suite("about = \"nothing\"", "planted.toml", "planted");
           return std::string();
         } catch (const Error& e) {
           return std::string(e.what());
         }
       }},
  };
}

}  // namespace ulpscope::selftest
