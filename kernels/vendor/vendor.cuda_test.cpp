// Every vendor variant on a real device, on small integers: sums are exact in every order and mode, so
// results must be equal, whatever the library does inside. Proves shapes, layouts, groups, transpositions and
// modes. Prints which engines ran and what was skipped and why. Skips itself where there is no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "kernels/support/executor.hpp"
#include "kernels/support/variant_inputs.hpp"
#include "kernels/vendor/libraries.hpp"
#include "kernels/vendor/vendor.hpp"

namespace ulpscope {
namespace {

std::vector<Problem> realistic_problems(const std::string& op) {
  if (op == "conv1d") return {{{.op = op, .padding = {2, 0, 0}}, {2, 32, 500}, {64, 32, 5}}};
  if (op == "conv2d")
    return {{{.op = op, .padding = {1, 1, 0}}, {4, 32, 28, 28}, {64, 32, 3, 3}},
            {{.op = op, .bias = true}, {2, 64, 32, 32}, {128, 64, 1, 1}}};
  if (op == "conv3d") return {{{.op = op, .padding = {1, 1, 1}}, {1, 16, 6, 12, 12}, {32, 16, 3, 3, 3}}};
  if (op == "conv_transpose1d") return {{{.op = op, .dilation = {3, 1, 1}}, {2, 32, 200}, {32, 64, 5}}};
  if (op == "conv2d_backward_weight")
    return {{{.op = op, .padding = {1, 1, 0}, .target = {3, 3}}, {4, 32, 14, 14}, {4, 64, 14, 14}}};
  if (op == "gemm")
    return {{{.op = op}, {128, 256}, {256, 96}},
            {{.op = op, .transpose_a = true, .transpose_b = true, .bias = true}, {3, 65, 70}, {3, 33, 65}}};
  if (op == "linear") return {{{.op = op, .bias = true}, {5, 300}, {7, 300}}};
  if (op == "dot") return {{{.op = op}, {1000}, {1000}}};
  return {};
}

struct Expected {
  double value = 0, magnitude = 0;
};

// The exact result, stored as the library's kernel stores it: a bias is added after that, and stored again.
Expected expected_of(const Contraction& c, const VariantInputs& inputs, DType out, std::int64_t o) {
  Expected e;
  for (const Term& t : terms_of(c, o)) {
    const double term = inputs.a.view().at(t.a) * inputs.b.view().at(t.b);
    e.value += term;
    e.magnitude += std::abs(term);
  }
  auto stored = [out](double v) { return value_of_bits(out, round_to_bits(out, v)); };
  e.value = stored(e.value);
  if (c.has_bias) {
    const double bias = inputs.bias.view().at(bias_index(c, o));
    e.value = stored(e.value + bias);
    e.magnitude += std::abs(bias);
  }
  return e;
}

std::vector<Expected> expected_of(const Contraction& c, const VariantInputs& inputs, DType out) {
  std::vector<Expected> all;
  for (std::int64_t o = 0; o < c.outputs(); ++o) all.push_back(expected_of(c, inputs, out, o));
  return all;
}

class VendorOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    executor = make_executor(Where::cuda, reason);
    if (!executor) GTEST_SKIP() << reason;
  }

  void check(const Problem& p, DType type, Random& pick) {
    const Contraction c = lower(p);
    const VariantInputs inputs = random_inputs(p, type, Values::integers, pick);
    executor->set_inputs(inputs.operands());
    const std::vector<Expected> expected = expected_of(c, inputs, type);
    for (const Variant* v : variants_of(p.params.op)) {
      if (v->where != Where::cuda || !v->vendor) continue;
      for (const Mode mode : v->modes) {
        const std::string label = v->op + " " + v->name + " " + to_string(mode) + " " + name_of(type);
        const std::string why = v->unsupported(p, type, type, mode);
        if (why.empty())
          run(*v, mode, p, c, type, expected, label);
        else
          ++tally[label + ": skipped, " + why];
      }
    }
  }

  void run(const Variant& v, Mode mode, const Problem& p, const Contraction& c, DType type,
           const std::vector<Expected>& expected, const std::string& label) {
    SCOPED_TRACE(label + ": " + to_string(p));
    LaunchArgs args;
    args.problem = &p;
    args.contraction = &c;
    args.in_dtype = args.out_dtype = type;
    args.mode = mode;
    const Execution e = executor->execute(v, args);
    EXPECT_TRUE(e.guards_intact);
    EXPECT_EQ(e.unwritten, 0);
    EXPECT_EQ(e.differing, 0);
    ++tally[label + ": " + e.notes.engine];
    executor->start_copy(0, {e.output}, {0, 1, c.outputs(), 0});
    const TensorView y{executor->finish_copy(0).front(), type, {c.outputs()}};
    const bool transform = v.name == "cudnn_winograd" || v.name == "cudnn_fft" || v.name == "transform";
    std::int64_t off = 0;
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      const Expected x = expected[static_cast<std::size_t>(o)];
      // A transform multiplies by fractions: it is only near.
      if (transform) {
        ASSERT_LE(std::abs(y.at(o) - x.value), 0.02 * x.magnitude + 1) << "output " << o;
        off += y.at(o) != x.value;
      } else {
        ASSERT_EQ(y.at(o), x.value) << "output " << o;
      }
    }
    executor->release(e.output);
    if (transform)
      tally[label + ": not exact in " + std::to_string(off) + " of " + std::to_string(c.outputs())] = 1;
  }

  std::unique_ptr<Executor> executor;
  std::map<std::string, int> tally;
};

TEST_F(VendorOnDevice, IntegersAreExactInEveryMode) {
  Random pick{std::mt19937_64(81)};
  std::vector<std::string> ops;
  for (const Variant& v : variants())
    if (v.vendor && (ops.empty() || ops.back() != v.op)) ops.push_back(v.op);
  for (const std::string& op : ops) {
    std::vector<Problem> problems = realistic_problems(op);
    for (int i = 0; i < 3; ++i) problems.push_back(random_problem(op, pick));
    for (const Problem& p : problems)
      for (const DType type : {DType::f32, DType::bf16, DType::f16}) check(p, type, pick);
  }
  for (const auto& [line, times] : tally) std::printf("%3d x %s\n", times, line.c_str());
}

// Every engine that a launch does not show to be a transform is exact on integers, whatever its notes say.
TEST_F(VendorOnDevice, EnginesThatAddProductsAreExactOnIntegers) {
  if (!vendor::cudnn_state().missing.empty()) GTEST_SKIP() << vendor::cudnn_state().missing;
  Random pick{std::mt19937_64(82)};
  for (const char* op : {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv2d_backward_weight"}) {
    const Problem p = realistic_problems(op).front();
    const Contraction c = lower(p);
    const VariantInputs inputs = random_inputs(p, DType::f32, Values::integers, pick);
    executor->set_inputs(inputs.operands());
    const std::vector<Expected> expected = expected_of(c, inputs, DType::f32);
    for (const std::string& line : vendor::describe_cudnn_engines(p, DType::f32, DType::f32)) {
      if (line.find(", workspace ") == line.npos) continue;  // the library cannot build it
      const bool transforms = line.find("seen to transform") != line.npos;
      if (!transforms) ++tally[std::string(op) + " " + line];
      const int engine = std::stoi(line.substr(std::string("engine ").size()));
      Variant pinned;
      pinned.op = op;
      pinned.name = transforms ? "transform" : "cudnn";
      pinned.where = Where::cuda;
      pinned.vendor = true;
      pinned.launch = [engine](const LaunchArgs& args) {
        return vendor::run_cudnn(args, {vendor::EngineFamily::direct, engine});
      };
      run(pinned, Mode::fp32, p, c, DType::f32, expected, std::string(op) + " " + line);
    }
  }
  for (const auto& [line, times] : tally) std::printf("%s\n", line.c_str());
}

}  // namespace
}  // namespace ulpscope
