// Pull requests played through: what a kernel or a library gave, as captures; judged, and gated with budgets
// against an accepted baseline, through the program itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "harness/capture.hpp"
#include "harness/inputs.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/io/npy.hpp"
#include "harness/judge_capture.hpp"
#include "reports/testing.hpp"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;
using testing_reports::fresh_folder;
using testing_reports::quoted;
using testing_reports::ran;
using testing_reports::Ran;

constexpr std::int64_t kM = 16, kK = 52, kN = 12;

Case problem() {
  Case c = parse_case("gemm 16x52 * 52x12 a=normal(0,1) b=normal(0,1) seed=31");
  c.name = "pr/gemm";
  return c;
}

float tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000) & ~0x1fffu);
}

/// What somebody wrote: a gemm with its choices.
struct Kernel {
  std::int64_t terms = kK, slices = 1;
  bool shorten = false, short_result = false;  // the result without its last three bits

  std::vector<float> run(const Inputs& in) const {
    std::vector<float> y;
    const std::int64_t slice = (terms + slices - 1) / slices;
    for (std::int64_t i = 0; i < kM; ++i)
      for (std::int64_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (std::int64_t s = 0; s < slices; ++s) {
          float acc = 0;
          for (std::int64_t k = s * slice; k < std::min(terms, (s + 1) * slice); ++k) {
            const float a = in.a.as<float>()[i * kK + k], b = in.b.as<float>()[k * kN + j];
            const float x = shorten ? tf32(a) : a, w = shorten ? tf32(b) : b;
            acc = std::fma(x, w, acc);
          }
          sum = s == 0 ? acc : sum + acc;
        }
        y.push_back(short_result ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum) & ~7u) : sum);
      }
    return y;
  }
};

class PullRequest : public testing::Test {
 protected:
  PullRequest() : folder_(fresh_folder("pull_request")) {
    write_text(folder_ + "/budgets.toml",
               "[[budget]]\ncase = \"pr/*\"\nmax_abs = \"bound\"\nbits = [\"runs\"]\ndate = 2026-11-29\n"
               "reason = \"bounds of their plans\"\nowner = \"kernels\"\n");
    keep("mm", Kernel{}, "fp32 | fma");
    keep("cublas", Kernel{}, "");
    record("baseline.json", "13.1.0");
  }

  /// The capture of a variant, in place of an older one.
  void keep(const std::string& variant, const Kernel& kernel, const std::string& plan) {
    Capture c;
    c.test = problem();
    c.variant = variant;
    c.executed = "device";
    c.declared_plan = plan;
    const Inputs inputs = make_inputs(c.test, 1);
    c.input_hash = inputs.hash;
    const std::vector<float> y = kernel.run(inputs);
    Tensor bits = make_tensor(DType::f32, {kM * kN});
    std::memcpy(bits.data.get(), y.data(), y.size() * sizeof(float));
    c.windows.push_back({0, bits});
    c.output_hash = hash_bytes(bits.data.get(), bits.view().bytes(), 1);
    write_capture(folder_ + "/captures/" + variant + ".npz", c);
  }

  Record judged() const {
    return judge_captures({folder_ + "/captures"}, ReplayChoice::all, 2, {"test"}, {});
  }

  void record(const std::string& name, const std::string& cublas, bool gpu = true) const {
    Record r = judged();
    r.environment["libraries"]["cublas"] = cublas;  // as a machine with the library would say
    for (nlohmann::json& row : r.results) {
      if (gpu) continue;
      row["verdict"] = "skipped";
      row["reason"] = "no CUDA device";
      row["error"] = nullptr;
    }
    write_record(folder_ + "/" + name, r);
  }

  Ran gate(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{ULPSCOPE_BINARY, "gate", folder_ + "/record.json", "--baseline",
                                   folder_ + "/baseline.json"};
    words.insert(words.end(), more.begin(), more.end());
    return ran(quoted(words));
  }
  Ran gate_with_budgets() const { return gate({"--budgets", folder_ + "/budgets.toml"}); }

  std::string folder_;
};

TEST_F(PullRequest, NothingChangedPasses) {
  record("record.json", "13.1.0");
  const Ran r = gate_with_budgets();
  EXPECT_EQ(r.code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("0 failures, 0 not verified, 0 warnings"));
}

TEST_F(PullRequest, ARightNewVariantPasses) {
  keep("mm_new", Kernel{.slices = 4}, "fp32 | fma | split 4");
  record("record.json", "13.1.0");
  const Ran r = gate_with_budgets();
  EXPECT_EQ(r.code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("note       new: pr/gemm mm_new fp32: not in the baseline"));
}

TEST_F(PullRequest, SilentTf32FailsByName) {
  keep("mm_new", Kernel{.shorten = true}, "");
  record("record.json", "13.1.0");
  const Ran r = gate_with_budgets();
  EXPECT_EQ(r.code, 1) << r.output;
  EXPECT_THAT(r.output, HasSubstr("failure    verdict: pr/gemm mm_new fp32: violated: plan 'tf32_r"));
}

TEST_F(PullRequest, ALostTailFailsAndIsNamed) {
  keep("mm_new", Kernel{.terms = kK / 8 * 8}, "fp32 | fma");
  record("record.json", "13.1.0");
  const Ran r = gate_with_budgets();
  EXPECT_EQ(r.code, 1) << r.output;
  EXPECT_THAT(r.output,
              HasSubstr("pr/gemm mm_new fp32: structural: the last 4 of 52 terms along k are missing = "
                        "52 mod 8 and 16 (all outputs)"));
  EXPECT_THAT(r.output, HasSubstr("gate: FAILED (1 failure, "));
}

TEST_F(PullRequest, LessAccurateButBoundedIsForTheBudget) {
  keep("mm", Kernel{.short_result = true}, "fp32 | fma");  // the plan no longer holds; the bound does
  record("record.json", "13.1.0");
  const Ran none = gate();
  EXPECT_EQ(none.code, 1) << none.output;
  EXPECT_THAT(none.output, HasSubstr("failure    worse: pr/gemm mm fp32: max_scaled went from"));
  const Ran bound = gate_with_budgets();
  EXPECT_EQ(bound.code, 0) << bound.output;
  EXPECT_THAT(bound.output, HasSubstr("warning    no_longer_explained: pr/gemm mm fp32"));
  write_text(folder_ + "/tight.toml",
             "[[budget]]\ncase = \"pr/*\"\nverdicts = [\"identical\", \"explained\"]\ndate = 2026-11-29\n"
             "reason = \"bits are predicted here\"\nowner = \"kernels\"\n");
  const Ran tight = gate({"--budgets", folder_ + "/tight.toml"});
  EXPECT_EQ(tight.code, 1) << tight.output;
  EXPECT_THAT(tight.output, HasSubstr("failure    verdict: pr/gemm mm fp32: bounded"));
}

TEST_F(PullRequest, ALibraryThatChangesItsOrderIsExplainedAndListed) {
  keep("cublas", Kernel{.slices = 2}, "");
  record("record.json", "13.2.0");
  const Ran r = gate_with_budgets();
  EXPECT_EQ(r.code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("note       environment: cublas: 13.1.0 -> 13.2.0"));
  EXPECT_THAT(r.output, HasSubstr("note       bits_changed: pr/gemm cublas fp32: bits changed: the order of "
                                  "additions changed, the arithmetic did not (cublas 13.1.0 -> 13.2.0)"));
  const Ran report = ran(
      quoted({ULPSCOPE_BINARY, "report", folder_ + "/record.json", "--against", folder_ + "/baseline.json"}));
  EXPECT_EQ(report.code, 0) << report.output;
  EXPECT_THAT(report.output, HasSubstr("plan: fp32 | fma -> fp32 | fma | chunks 26 seq"));
}

TEST_F(PullRequest, AGpuThatWasNotThereIsNoPass) {
  record("record.json", "13.1.0", false);
  const Ran r = gate_with_budgets();
  EXPECT_EQ(r.code, 3) << r.output;
  EXPECT_THAT(r.output, HasSubstr("NOT VERIFIED"));
  EXPECT_THAT(r.output,
              HasSubstr("unverified not_run: pr/gemm mm fp32: explained in the baseline, skipped here: "
                        "no CUDA device"));
}

TEST_F(PullRequest, AnnotationsSummaryAndProposalsAreWritten) {
  keep("mm", Kernel{.shorten = true}, "fp32 | fma");
  record("record.json", "13.1.0");
  const std::string summary = folder_ + "/summary.md", proposal = folder_ + "/proposed.toml";
  const Ran r = ran(
      "GITHUB_STEP_SUMMARY=" + quoted({summary}) + " " +
      quoted({ULPSCOPE_BINARY, "gate", folder_ + "/record.json", "--budgets", folder_ + "/budgets.toml",
              "--baseline", folder_ + "/baseline.json", "--github", "--gitlab", folder_ + "/gitlab.json",
              "--json", folder_ + "/gate.json", "--propose", proposal, "--propose", folder_ + "/new.json"}));
  EXPECT_EQ(r.code, 1) << r.output;
  EXPECT_THAT(r.output, HasSubstr("::error "));
  EXPECT_THAT(testing_reports::read_text(summary), HasSubstr("## Numerical gate: failed"));
  EXPECT_THAT(testing_reports::read_text(folder_ + "/gitlab.json"), HasSubstr("\"severity\": \"critical\""));
  EXPECT_THAT(testing_reports::read_text(folder_ + "/gate.json"), HasSubstr("ulpscope.gate/1"));
  EXPECT_THAT(testing_reports::read_text(proposal), HasSubstr("[[budget]]"));
  // A second proposal would replace the first.
  const Ran again = gate({"--propose", proposal});
  EXPECT_EQ(again.code, 2) << again.output;
  EXPECT_THAT(again.output, HasSubstr("exists already"));
  // The proposed baseline keeps the old result of what failed.
  const Ran next =
      ran(quoted({ULPSCOPE_BINARY, "gate", folder_ + "/new.json", "--baseline", folder_ + "/baseline.json"}));
  EXPECT_EQ(next.code, 0) << next.output;
}

}  // namespace
}  // namespace ulpscope
