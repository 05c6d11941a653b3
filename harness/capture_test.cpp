#include "harness/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/inputs.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/io/npz.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor ramp(DType type, std::int64_t from, std::int64_t count) {
  Tensor t = make_tensor(type, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = round_to_bits(type, static_cast<double>(from + i) / 8);
    std::memcpy(t.as<std::byte>() + i * size_of(type), &bits, static_cast<std::size_t>(size_of(type)));
  }
  return t;
}

Capture sample(DType out = DType::f32) {
  Capture c;
  c.test = parse_case("conv2d 2x3x8x8 * 4x3x3x3 p1 bias a=normal atol=1e-4 rtol=0.5");
  c.test.name = "suite/name";
  c.test.file = "cases/suite.toml";
  c.test.out = out;
  c.test.tags = {"smoke"};
  c.test.variants = {"host_*"};
  c.variant = "tile";
  c.mode = Mode::tf32;
  c.executed = "host";
  c.environment = {{"host", {{"name", "x"}}}};
  c.input_hash = "in";
  c.windows.push_back({0, ramp(out, 0, 2 * 4 * 8 * 8)});
  c.output_hash = hash_bytes(c.windows[0].bits.data.get(), c.windows[0].bits.view().bytes());
  c.device_ms = 0.125;
  c.notes = {"kernel_name", {"TENSOR_CORE"}, 4096};
  return c;
}

void expect_same(const Capture& x, const Capture& y) {
  EXPECT_EQ(to_string(x.test), to_string(y.test));
  EXPECT_EQ(x.test.problem, y.test.problem);
  EXPECT_EQ(x.test.name, y.test.name);
  EXPECT_EQ(x.test.file, y.test.file);
  EXPECT_EQ(x.test.tags, y.test.tags);
  EXPECT_EQ(x.test.variants, y.test.variants);
  EXPECT_EQ(x.test.tolerance.has_value(), y.test.tolerance.has_value());
  EXPECT_EQ(x.variant, y.variant);
  EXPECT_EQ(x.mode, y.mode);
  EXPECT_EQ(x.executed, y.executed);
  EXPECT_EQ(x.environment, y.environment);
  EXPECT_EQ(x.input_hash, y.input_hash);
  EXPECT_EQ(x.output_hash, y.output_hash);
  EXPECT_EQ(x.runs_identical, y.runs_identical);
  EXPECT_EQ(x.runs_differing, y.runs_differing);
  EXPECT_EQ(x.first_differing, y.first_differing);
  EXPECT_EQ(x.first_unwritten, y.first_unwritten);
  EXPECT_EQ(x.device_ms, y.device_ms);
  EXPECT_EQ(x.notes.engine, y.notes.engine);
  EXPECT_EQ(x.notes.notes, y.notes.notes);
  EXPECT_EQ(x.notes.workspace_bytes, y.notes.workspace_bytes);
  EXPECT_EQ(x.status, y.status);
  EXPECT_EQ(x.reason, y.reason);
  ASSERT_EQ(x.windows.size(), y.windows.size());
  for (std::size_t i = 0; i < x.windows.size(); ++i) {
    EXPECT_EQ(x.windows[i].begin, y.windows[i].begin);
    const TensorView a = x.windows[i].bits.view(), b = y.windows[i].bits.view();
    EXPECT_EQ(a.dtype, b.dtype);
    ASSERT_EQ(a.shape, b.shape);
    EXPECT_EQ(std::memcmp(a.data, b.data, a.bytes()), 0);
  }
}

class CaptureFile : public testing::Test {
 protected:
  CaptureFile()
      : folder(testing::TempDir() + "/ulpscope_capture_" +
               testing::UnitTest::GetInstance()->current_test_info()->name()),
        path(folder + "/c.npz") {
    fs::remove_all(folder);
  }
  ~CaptureFile() override { fs::remove_all(folder); }
  const std::string folder, path;
};

TEST_F(CaptureFile, WholeOutputsSurviveARoundTrip) {
  for (const DType out : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const Capture c = sample(out);
    write_capture(path, c);
    expect_same(read_capture(path), c);
  }
  // NumPy's users get the output in its own shape.
  EXPECT_EQ(Npz(map_file(path)).read("output").shape, (Shape{2, 4, 8, 8}));
}

TEST_F(CaptureFile, WindowsSurviveARoundTrip) {
  Capture c = sample();
  c.windows = {
      {0, ramp(DType::f32, 0, 5)}, {100, ramp(DType::f32, 100, 50)}, {511, ramp(DType::f32, 511, 1)}};
  c.output_hash = "of the whole output, which is not here";
  c.runs_identical = false;
  c.runs_differing = 3;
  c.first_differing = 101;
  write_capture(path, c);
  expect_same(read_capture(path), c);
}

TEST_F(CaptureFile, SkippedAndFailedRunsAreCapturesToo) {
  Capture c = sample();
  c.windows.clear();
  c.output_hash.clear();
  c.status = "skipped";
  c.reason = "needs a GPU";
  write_capture(path, c);
  expect_same(read_capture(path), c);
}

TEST_F(CaptureFile, ContradictionsAreNotWritten) {
  auto refused = [&](auto&& change) {
    Capture c = sample();
    change(c);
    EXPECT_THROW(write_capture(path, c), Error);
    EXPECT_FALSE(fs::exists(path));
  };
  refused([](Capture& c) { c.windows[0].begin = 1; });
  refused([](Capture& c) { c.windows[0].bits = ramp(DType::f16, 0, 512); });
  refused([](Capture& c) { c.windows.clear(); });
  refused([](Capture& c) { c.status = "fine"; });
  refused([](Capture& c) { c.runs_differing = 2; });
  refused([](Capture& c) { c.device_ms = -1; });
  refused([](Capture& c) { c.windows = {{5, ramp(DType::f32, 0, 5)}, {9, ramp(DType::f32, 0, 5)}}; });
}

// ---- interrupted runs
// --------------------------------------------------------------------------------------

TEST_F(CaptureFile, AnInterruptedRunGoesOnWhereItStopped) {
  const Capture c = sample();
  EXPECT_FALSE(has_capture(path, c.test, c.variant, c.mode, c.input_hash));
  write_capture(path, c);
  EXPECT_TRUE(has_capture(path, c.test, c.variant, c.mode, c.input_hash));
  EXPECT_FALSE(has_capture(path, c.test, "other", c.mode, c.input_hash));
  EXPECT_FALSE(has_capture(path, c.test, c.variant, Mode::fp32, c.input_hash));
  EXPECT_FALSE(has_capture(path, c.test, c.variant, c.mode, "other inputs"));
  Case changed = c.test;
  changed.seed += 1;
  EXPECT_FALSE(has_capture(path, changed, c.variant, c.mode, c.input_hash));
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_FALSE(has_capture(path, c.test, c.variant, c.mode, c.input_hash));
}

TEST_F(CaptureFile, AKilledWriterLeavesAWholeFileOrNone) {
  Capture c = sample();
  c.test = parse_case("gemm 1000x4 * 4x1000");
  c.windows = {{0, ramp(DType::f32, 0, 1'000'000)}};
  c.output_hash = hash_bytes(c.windows[0].bits.data.get(), 4'000'000);
  int finished = 0, killed = 0;
  for (int i = 0; i < 24; ++i) {
    fs::remove_all(folder);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      write_capture(path, c);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(i * i * 40));  // from at once to 20 ms
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (fs::exists(path)) {
      ++finished;
      EXPECT_NO_THROW(read_capture(path));
    } else {
      ++killed;
      if (fs::exists(folder)) {
        EXPECT_TRUE(capture_files(folder).empty()) << "half a file passes for a capture";
      }
    }
  }
  EXPECT_GT(killed, 0);
  RecordProperty("finished", finished);
}

TEST_F(CaptureFile, NamesAreReadableAndDistinct) {
  Case test = sample().test;
  const std::string name = capture_file_name(test, "tile", Mode::tf32);
  EXPECT_THAT(name, testing::StartsWith("suite_name--tile--tf32--"));
  EXPECT_NE(name, capture_file_name(test, "tile", Mode::fp32));
  EXPECT_NE(name, capture_file_name(test, "tiles", Mode::tf32));
  test.seed += 1;
  EXPECT_NE(name, capture_file_name(test, "tile", Mode::tf32));
  test.name = "conv2d 1x1x3x3 * 1x1x1x1 a=uniform(0,1) " + std::string(300, '/');
  EXPECT_EQ(capture_file_name(test, "tile", Mode::tf32).find_first_of(" */()"), std::string::npos);
  EXPECT_LT(capture_file_name(test, "tile", Mode::tf32).size(), 255u);
}

TEST_F(CaptureFile, ListsFinishedFilesOnly) {
  write_capture(folder + "/b.npz", sample());
  write_capture(folder + "/sub/a.npz", sample());
  write_text(folder + "/b.npz.partial-1-0", "half");
  EXPECT_EQ(capture_files(folder), (std::vector<std::string>{folder + "/b.npz", folder + "/sub/a.npz"}));
  EXPECT_THROW(capture_files(folder + "/none"), Error);
}

// ---- malformed captures
// ------------------------------------------------------------------------------------

class MalformedCapture : public CaptureFile {
 protected:
  // Writes a sample, its meta.json changed by `change` and its arrays by `arrays`; returns the reader's
  // words.
  std::string error(const std::function<void(nlohmann::json&)>& change, std::vector<NpzMember> arrays = {}) {
    const Capture c = sample();
    write_capture(path, c);
    const Npz archive(map_file(path));
    nlohmann::json meta = nlohmann::json::parse(archive.bytes("meta.json").text());
    change(meta);
    if (arrays.empty()) arrays.push_back({"output.npy", c.windows[0].bits.view(), ""});
    return error_of(meta.dump(), arrays);
  }
  std::string error_of(const std::string& meta, std::vector<NpzMember> members) {
    members.push_back({"meta.json", {}, meta});
    write_npz(path, members);
    try {
      read_capture(path);
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    return "accepted";
  }
};

TEST_F(MalformedCapture, FieldsOfMetaAreChecked) {
  EXPECT_EQ(error([](auto&) {}), "accepted");
  for (const char* key :
       {"schema", "case", "variant", "mode", "executed", "environment", "input_hash", "output_hash",
        "runs_identical", "runs_differing", "device_ms", "notes", "status", "reason", "outputs", "windows"})
    EXPECT_THAT(error([&](auto& m) { m.erase(key); }), HasSubstr(std::string("lacks '") + key + "'"));
  EXPECT_THAT(error([](auto& m) { m["schema"] = "ulpscope.capture/2"; }), HasSubstr("this program reads"));
  EXPECT_THAT(error([](auto& m) { m["mode"] = "fp23"; }), HasSubstr("unknown mode 'fp23'"));
  EXPECT_THAT(error([](auto& m) { m["status"] = "fine"; }), HasSubstr("none of ok, skipped, error"));
  EXPECT_THAT(error([](auto& m) { m["status"] = "skipped"; }), HasSubstr("outputs although"));
  EXPECT_THAT(error([](auto& m) { m["device_ms"] = -1; }), HasSubstr("no duration"));
  EXPECT_THAT(error([](auto& m) { m["device_ms"] = "1"; }), HasSubstr("must be a number"));
  EXPECT_THAT(error([](auto& m) { m["runs_differing"] = -1; }), HasSubstr("whole number"));
  EXPECT_THAT(error([](auto& m) { m["runs_differing"] = 5; }), HasSubstr("two runs"));
  EXPECT_THAT(error([](auto& m) { m["launch"]["first_differing"] = -2; }), HasSubstr("whole number"));
  EXPECT_THAT(error([](auto& m) { m["launch"]["first_unwritten"] = 512; }), HasSubstr("none of its outputs"));
  EXPECT_EQ(error([](auto& m) { m["launch"].erase("first_differing"); }), "accepted") << "older captures";
  EXPECT_THAT(error([](auto& m) { m["inputs"] = 3; }), HasSubstr("must be an object"));
  EXPECT_THAT(error([](auto& m) { m["inputs"] = {{"a", "output.npy"}}; }), HasSubstr("its operand 'a' is"));
  EXPECT_THAT(error([](auto& m) { m["runs_identical"] = 1; }), HasSubstr("true or false"));
  EXPECT_THAT(error([](auto& m) { m["variant"] = 1; }), HasSubstr("must be a string"));
  EXPECT_THAT(error([](auto& m) { m["notes"]["notes"] = {1}; }), HasSubstr("list of strings"));
  EXPECT_THAT(error([](auto& m) { m["notes"] = 3; }), HasSubstr("lacks 'engine'"));
  EXPECT_THAT(error([](auto& m) { m["outputs"] = 3; }), HasSubstr("number of outputs"));
  EXPECT_THAT(error([](auto& m) { m["case"]["text"] = "conv2d 1x1"; }), HasSubstr("its case cannot be read"));
  EXPECT_THAT(error([](auto& m) { m["case"].erase("name"); }), HasSubstr("lacks 'name'"));
  EXPECT_THAT(error_of("{", {}), HasSubstr("meta.json: it is no JSON (cut off?)"));
  EXPECT_THAT(error_of("[]", {}), HasSubstr("no JSON object"));
  // A place that is copied as it is: so deep, the copy alone would end the process.
  std::string meta;
  error([&](auto& m) {
    m["environment"] = "deep";
    meta = m.dump();
  });
  meta.replace(meta.find("\"deep\""), 6, std::string(300000, '[') + std::string(300000, ']'));
  EXPECT_THAT(error_of(meta, {}), HasSubstr("meta.json: it is nested too deeply"));
}

TEST_F(MalformedCapture, WindowsAreChecked) {
  EXPECT_THAT(error([](auto& m) { m["windows"] = 1; }), HasSubstr("must be a list"));
  EXPECT_THAT(error([](auto& m) { m["windows"] = nlohmann::json::array(); }), HasSubstr("no outputs"));
  EXPECT_THAT(error([](auto& m) { m["windows"][0]["member"] = "other.npy"; }), HasSubstr("holds no array"));
  EXPECT_THAT(error([](auto& m) { m["windows"][0]["member"] = "meta.json"; }), HasSubstr("is no array"));
  EXPECT_THAT(error([](auto& m) { m["windows"][0]["begin"] = 1; }), HasSubstr("leaves the 512 outputs"));
  EXPECT_THAT(error([](auto& m) { m["windows"][0]["begin"] = INT64_MAX; }),
              HasSubstr("leaves the 512 outputs"));
  EXPECT_THAT(error([](auto& m) { m["windows"][0]["count"] = 511; }), HasSubstr("size meta.json says"));
  EXPECT_THAT(error([](auto& m) { m["windows"].push_back(m["windows"][0]); }), HasSubstr("overlaps"));
  EXPECT_THAT(error([](auto& m) { m["output_hash"] = "0"; }), HasSubstr("misses output_hash"));
  const Tensor halves = ramp(DType::f16, 0, 512), few = ramp(DType::f32, 0, 511);
  EXPECT_THAT(error([](auto&) {}, {{"output.npy", halves.view(), ""}}),
              HasSubstr("not of the output's format"));
  EXPECT_THAT(error([](auto&) {}, {{"output.npy", few.view(), ""}}), HasSubstr("size meta.json says"));
}

TEST_F(MalformedCapture, OtherArchivesAndCutOnes) {
  EXPECT_THAT([] { read_capture(ULPSCOPE_SOURCE_DIR "/harness/fuzz/seeds/npz/stored.npz"); },
              ThrowsMessage<Error>(HasSubstr("no meta.json")));
  EXPECT_THAT([] { read_capture(ULPSCOPE_SOURCE_DIR "/LICENSE"); },
              ThrowsMessage<Error>(HasSubstr("no readable .npz")));
  write_capture(path, sample());
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (std::size_t kept = 0; kept < good.size(); kept += 37)
    EXPECT_THROW(read_capture(copy_bytes(good.data(), kept, "cut.npz")), Error) << kept;
}

TEST_F(MalformedCapture, NoSingleFlippedBitOfTheOutputPasses) {
  write_capture(path, sample());
  const Bytes file = map_file(path);
  const Tensor output = Npz(file).read("output");
  const auto from = static_cast<std::size_t>(output.as<std::byte>() - file.data);
  for (std::size_t byte = 0; byte < output.view().bytes(); byte += 97) {
    Bytes changed = copy_bytes(file.data, file.size, "flipped.npz");
    changed.data[from + byte] ^= std::byte{4};
    EXPECT_THROW(read_capture(changed), Error) << byte;
  }
}

}  // namespace
}  // namespace ulpscope
