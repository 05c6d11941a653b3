// Malformed cases, captures, records and arguments through the real program: each ends in one clear line on
// stderr and exit code 2, whatever else is wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/capture.hpp"
#include "harness/inputs.hpp"
#include "harness/version.hpp"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string err;
};

Outcome run(const std::string& arguments, const fs::path& folder) {
  const std::string command =
      "cd '" + folder.string() + "' && '" + ULPSCOPE_BINARY + "' " + arguments + " 2>&1 >/dev/null";
  Outcome o;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return o;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) o.err.append(buffer.data(), n);
  o.code = WEXITSTATUS(pclose(pipe));
  return o;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A good capture of a small gemm, and damaged ones.
void make_captures(const fs::path& folder) {
  Capture c;
  c.test = parse_case("gemm 2x3 * 3x4 seed=1");
  c.variant = "host_naive";
  c.environment = nlohmann::json::object();
  c.input_hash = make_inputs(c.test, 1).hash;
  Tensor y = make_tensor(DType::f32, {8});
  std::fill_n(y.as<float>(), 8, 0.0f);
  c.windows = {{0, y}};
  c.output_hash = hash_bytes(y.data.get(), 32);
  write_capture((folder / "good.npz").string(), c);
  const std::string good = content(folder / "good.npz");
  write(folder / "cut.npz", good.substr(0, good.size() / 2));
  std::string flipped = good;
  flipped[good.find("host_naive")] ^= 1;
  write(folder / "flipped.npz", flipped);
  c.input_hash[0] = c.input_hash[0] == 'a' ? 'b' : 'a';
  write_capture((folder / "foreign.npz").string(), c);
  write(folder / "text.npz", "not an archive");
  fs::create_directory(folder / "empty");
}

void make_cases(const fs::path& folder) {
  const std::string head = "[[case]]\nname = \"x\"\n", gemm = head + "problem = \"gemm 2x3 * 3x5\"\n";
  write(folder / "broken.toml", "[[case]\nname = ");
  write(folder / "wrong_shape.toml", head + "problem = \"gemm 2x3 * 4x5\"\n");
  write(folder / "nan.toml", gemm + "tolerance = {atol = nan}\n");
  write(folder / "negative.toml", gemm + "tolerance = {rtol = -1.0}\n");
  write(folder / "key.toml", gemm + "sead = 2\n");
  write(folder / "none.toml", "");
  write(folder / "good.toml", gemm);
}

TEST(BadInput, EndsInOneClearLineAndExitTwo) {
  const fs::path folder = fs::path(testing::TempDir()) / ("ulpscope_bad_" + std::to_string(getpid()));
  fs::create_directories(folder);
  make_captures(folder);
  make_cases(folder);
  struct Bad {
    const char *arguments, *says;
  };
  const Bad table[] = {
      // arguments
      {"", "subcommand"},
      {"rum", "did you mean 'run'"},
      {"run", "say what to run"},
      {"run 'gemm 2x3 * 3x4' --threads 0", "threads"},
      {"run 'gemm 2x3 * 3x4' --threads many", "threads"},
      {"run 'gemm 2x3 * 3x4' --mode fp23", "unknown mode 'fp23'"},
      {"run 'gemm 2x3 * 3x4' --device gpu", "--device"},
      {"run 'gemm 2x3 * 3x4' --device cudda", "did you mean 'cuda'"},
      {"run 'gemm 2x3 * 3x4' --device cuda:0,0", "GPU 0 is named twice"},
      {"run 'gemm 2x3 * 3x4' --device cuda:0,999", "--device"},
      {"run 'gemm 2x3 * 3x4' --device cpu:0", "as in cpu:4"},
      {"run 'gemm 2x3 * 3x4' --replay some", "--replay"},
      {"run 'gemm 2x3 * 3x4' --variant host_naiv", "did you mean 'host_naive'"},
      {"run 'gemm 2x3 * 3x4' --variant host_naive --mode bf16", "nothing to run"},
      {"run 'gemm 2x3 * 3x4' --nonsense", "nonsense"},
      {"run 'gemm 2x3 * 3x4' --json /proc/nowhere/r.json", "/proc/nowhere"},
      // where nothing can be written: before anything is run or read
      {"run 'gemm 2x3 * 3x4' --json nowhere/r.json", "there is no folder 'nowhere'"},
      {"run 'gemm 2x3 * 3x4' --json empty", "'empty' is a folder"},
      {"run 'gemm 2x3 * 3x4' --json /dev/null", "'/dev/null' is no file"},
      {"run 'gemm 2x3 * 3x4' --json -", "'-' is no file"},
      {"run 'gemm 2x3 * 3x4' --json good.toml/r.json", "'good.toml' is no folder"},
      {"run 'gemm 2x3 * 3x4' --captures a/b", "there is no folder 'a'"},
      {"run 'gemm 2x3 * 3x4' --captures good.toml", "good.toml"},
      {"judge missing.npz --json nowhere/r.json", "there is no folder"},
      {"merge missing.json --out nowhere/r.json", "there is no folder"},
      {"gate missing.json --propose nowhere/r.json", "there is no folder"},
      {"gate missing.json --json nowhere/r.json", "there is no folder"},
      {"gate missing.json --gitlab nowhere/r.json", "there is no folder"},
      {"report missing.json --html nowhere/r.html", "there is no folder"},
      {"report missing.json --csv nowhere/r.csv", "there is no folder"},
      {"explain --op gemm --json nowhere/r.json", "there is no folder"},
      {"bound 'gemm 2x3 * 3x4' --json nowhere/r.json", "there is no folder"},
      {"drift 'gemm 2x3 * 3x4' --json nowhere/r.json", "there is no folder"},
      {"invariance 'gemm 2x3 * 3x4' --json nowhere/r.json", "there is no folder"},
      {"probe --json nowhere/r.json", "there is no folder"},
      {"self-test --json nowhere/r.json", "there is no folder"},
      {"import 'gemm 2x3 * 3x4' --to nowhere/r.npz", "there is no folder"},
      {"run smoke", "--cases"},
      {"explain --op gemm --stride 2 --input good.npz:a --weight good.npz:b --candidate good.npz:y",
       "--stride is for convolutions"},
      // where something would be lost
      {"judge good.npz --json good.npz", "--json would replace 'good.npz', which this command reads"},
      {"explain --op gemm --input good.npz:a --weight good.npz:b --candidate good.npz:y --json ./good.npz",
       "would replace './good.npz'"},
      {"import 'gemm 2x3 * 3x4' --variant v --input good.npz:a --weight good.npz:b --output good.npz:y --to "
       "good.npz",
       "would replace 'good.npz'"},
      {"run good.toml --json good.toml", "would replace 'good.toml'"},
      {"bound 'gemm 2x3 * 3x4' --json good.toml", "which holds cases or budgets"},
      {"gate good.toml --budgets good.toml --json x.json --gitlab x.json", "would write to the same place"},
      {"run x --cases nowhere", "nowhere"},
      {"list things", "things"},
      {"list --op conv2", "conv2"},
      {"list cases --cases nowhere", "nowhere"},
      {"judge", "CAPTURE"},
      // cases as text
      {"run 'gem 2x3 * 3x4'", "did you mean 'gemm'"},
      {"run 'gemm 2x3 * 4x5'", "3"},
      {"run 'gemm 2x-3 * 3x4'", "-3"},
      {"run 'gemm 2x3 * 3x4 in=fp23'", "fp23"},
      {"run 'gemm 2x3 * 3x4 a=unifrom'", "did you mean 'uniform'"},
      {"run 'gemm 2x3 * 3x4 atol=nan'", "nan"},
      {"run 'gemm 2x3 * 3x4 rtol=-1'", "rtol"},
      {"run 'gemm 2x3 * 3x4 seed=1.5'", "seed"},
      {"run 'conv2d 1x2x3x3 * 4x2x5x5'", "kernel"},
      {"run 'conv2d 1x3x9x9 * 4x3x3x3 g2'", "groups"},
      {"run 'conv2d 1x3x9x9 * 4x3x3x3 s0'", "stride"},
      {"run 'gemm 9999999999x9999999999 * 9999999999x4'", "9999999999"},
      // cases in files
      {"run x --cases broken.toml", "broken.toml"},
      {"run x --cases wrong_shape.toml", "wrong_shape.toml"},
      {"run x --cases nan.toml", "nan"},
      {"run x --cases negative.toml", "at least 0"},
      {"run x --cases key.toml", "'sead'"},
      {"run x --cases none.toml", "holds no [[case]]"},
      {"run y --cases good.toml", "'y'"},
      // captures
      {"judge missing.npz", "missing.npz"},
      {"judge cut.npz", "cut.npz"},
      {"judge flipped.npz", "flipped.npz"},
      {"judge text.npz", "text.npz"},
      {"judge empty", "no captures"},
      {"judge good.npz --threads -1", "threads"},
      {"judge good.npz --replay maybe", "--replay"},
      // dumps
      {"import 'gemm 2x3 * 3x4'", "--to"},
      {"import 'gemm 2x3 * 3x4' --to x.npz", "--input is missing"},
      {"import 'gemm 2x3 * 3x4' --to x.npz --input missing.npy", "missing.npy"},
      {"import 'gemm 8 * 3x4' --to x.npz", "gemm"},
      {"import 'gemm 2x3 * 3x4' --to x.npz --input good.npz:output", "good.npz"},
      {"import 'sum 8' --to x.npz --mode fp23 --input good.npz:window_000", "fp23"},
      {"import 'sum 8' --to x.npz --plan magic --input good.npz:window_000", "magic"},
      {"import 'linear 2x4 * 2x4' --to x.npz --input good.npz:output --weight good.npz:output",
       "--output is missing"},
      {"import 'linear 2x4 * 2x4' --to x.npz --input good.npz:output --weight good.npz:output --output "
       "good.npz:output",
       "--output-slice"},
      {"import 'linear 2x4 * 2x4' --to x.npz --input good.npz:output --weight good.npz:output --output-slice "
       "0:1",
       "spatial axes"},
  };
  for (const Bad& bad : table) {
    const Outcome o = run(bad.arguments, folder);
    EXPECT_EQ(o.code, 2) << bad.arguments << "\n" << o.err;
    EXPECT_NE(o.err.find(bad.says), std::string::npos) << bad.arguments << "\n" << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << bad.arguments << "\n" << o.err;
    EXPECT_TRUE(o.err.starts_with("ulpscope: ")) << bad.arguments << "\n" << o.err;
  }
  EXPECT_GE(std::size(table), 30u);
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  if (!kBuiltWithCuda) {
    const Outcome o = run("run 'gemm 2x3 * 3x4' --device cuda", folder);
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(o.err.find("built without CUDA"), std::string::npos) << o.err;
  }
  // What was asked for and could not be said.
  const std::string full = std::string("'") + ULPSCOPE_BINARY + "' list modes 2>/dev/null >/dev/full";
  EXPECT_EQ(WEXITSTATUS(std::system(full.c_str())), 2);
  // A capture whose inputs cannot be made again is a result of its own: an error in the table, exit 2.
  EXPECT_EQ(run("judge foreign.npz", folder).code, 2);
  // And what is not malformed is judged: these outputs are wrong.
  EXPECT_EQ(run("judge good.npz", folder).code, 1);
  fs::remove_all(folder);
}

TEST(BadInput, WithoutADeviceCudaIsRefusedAndAutoSkips) {
  const Outcome listed = run("list --device", testing::TempDir());
  if (listed.code == 0) GTEST_SKIP() << "a device is here";
  for (const char* arguments :
       {"list --device", "run 'gemm 2x3 * 3x4' --device cuda", "run 'gemm 2x3 * 3x4' --device cuda:all"}) {
    const Outcome o = run(arguments, testing::TempDir());
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }
  EXPECT_EQ(run("run 'gemm 2x3 * 3x4 seed=1'", testing::TempDir()).code, 0);
}

}  // namespace
}  // namespace ulpscope
