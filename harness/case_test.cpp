#include "harness/case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kCases = ULPSCOPE_SOURCE_DIR "/cases";

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(CaseText, PrintedIdentityIsAcceptedBack) {
  for (const char* text :
       {"conv2d 2x3x9x9 * 4x3x3x3 s1,2 p1 d1 g1 bias in=bf16 out=fp32 a=uniform(-1,1) b=integers(-4,5) "
        "bias=zeros seed=7 atol=1e-04 rtol=1e-05",
        "conv_transpose2d 1x2x5x5 * 2x3x3x3 s2 p1 op1,0 d1 g1 in=fp32 out=fp32 a=normal(0,1) "
        "b=default_weight seed=18446744073709551615",
        "gemm 3x4 * 5x4 tB in=fp16 out=fp16 a=condition(1e+06) b=condition(1e+06) seed=0",
        "conv1d_backward_weight 2x3x9 * 2x4x9 s1 p1 d1 g1 -> 3 in=fp32 out=fp32 a=wide(-20,20) b=ones seed=3",
        "mean 100 in=fp64 out=fp32 a=special(-1,1,0.00390625) seed=5"})
    EXPECT_EQ(to_string(parse_case(text)), text);
}

TEST(CaseText, DefaultsAreThoseOfTheOperator) {
  const Case c = parse_case("conv2d 2x3x9x9 * 4x3x3x3");
  EXPECT_EQ(c.problem.params.stride[1], 1);
  EXPECT_EQ(c.fill_a, default_fill("uniform"));
  EXPECT_EQ(c.fill_b.kind, "default_weight");
  EXPECT_EQ(parse_case("conv2d 2x3x9x9 * 4x3x3x3 a=normal").seed, c.seed)
      << "the problem's, whatever the fills";
  EXPECT_NE(parse_case("conv2d 2x3x9x9 * 4x3x3x3 p1").seed, c.seed);
  EXPECT_EQ(parse_case("conv2d 2x3x9x9 * 4x3x3x3 p2").problem.params.padding,
            (std::array<std::int64_t, 3>{2, 2, 0}));
}

TEST(CaseText, MistakesAreNamed) {
  auto error = [](const std::string& text) { return error_of([&] { check_case(parse_case(text)); }); };
  EXPECT_THAT(error(""), HasSubstr("needs an operator"));
  EXPECT_THAT(error("cnov2d 1x1 * 1x1"), HasSubstr("did you mean 'conv2d'?"));
  EXPECT_THAT(error("conv2d 1x1xfoo * 1x1"), HasSubstr("'1x1xfoo' is no shape"));
  EXPECT_THAT(error("conv2d 2x3x9x9 * 4x3x3x3 q1"), HasSubstr("cannot read 'q1'"));
  EXPECT_THAT(error("conv2d 2x3x9x9 * 4x3x3x3 s1,2,3"), HasSubstr("spatial axes (2)"));
  EXPECT_THAT(error("conv3d 1x1x4x4x4 * 1x1x1x1x1 s1,2"), HasSubstr("one per spatial axis (3)"));
  EXPECT_THAT(error("conv2d 2x3x9x9 *"), HasSubstr("a shape must follow '*'"));
  EXPECT_THAT(error("conv2d 2x3x9x9 * 4x5x3x3"), HasSubstr("conv2d:"));
  EXPECT_THAT(error("sum 10 a=unifrom"), HasSubstr("did you mean 'uniform'?"));
  EXPECT_THAT(error("sum 10 a=uniform(0,1"), HasSubstr("closing parenthesis"));
  EXPECT_THAT(error("sum 10 a=uniform(0,1,2)"), HasSubstr("too many parameters"));
  EXPECT_THAT(error("sum 10 a=uniform(nan,1)"), HasSubstr("no finite number"));
  EXPECT_THAT(error("sum 10 in=fp33"), HasSubstr("unknown number format 'fp33'"));
  EXPECT_THAT(error("sum 10 sede=1"), HasSubstr("did you mean 'seed'?"));
  EXPECT_THAT(error("sum 10 seed=-1"), HasSubstr("no whole number"));
  EXPECT_THAT(error("sum 10 atol=nan"), HasSubstr("no finite number"));
  EXPECT_THAT(error("sum 10 rtol=-1"), HasSubstr("negative"));
  EXPECT_THAT(error("sum 9223372036854775808"), HasSubstr("is no shape"));
}

std::string toml(const std::string& settings) {
  return "[defaults]\nseed = 4\n\n[[case]]\nname = \"a\"\n" + settings;
}

TEST(CaseFile, DefaultsAreSharedAndOverridden) {
  const auto cases = parse_cases(
      R"toml([defaults]
tags = ["smoke"]
dtype = "bf16"
tolerance = {atol = 1e-4, rtol = 1}
fill = "integers(-2,3)"
[[case]]
name = "one"
problem = "gemm 4x8 * 8x4"
[[case]]
name = "two"
problem = "linear 4x8 * 4x8 bias"
out = "fp32"
b = "ones"
seed = 9
tags = ["ci", "smoke"]
variants = ["host_*"]
)toml",
      "f.toml", "f");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].name, "f/one");
  EXPECT_EQ(cases[0].in, DType::bf16);
  EXPECT_EQ(cases[0].out, DType::bf16);
  EXPECT_EQ(cases[0].tolerance->rtol, 1);
  EXPECT_THAT(cases[0].tags, ElementsAre("smoke"));
  EXPECT_EQ(cases[1].out, DType::f32);
  EXPECT_EQ(cases[1].fill_a.kind, "integers");
  EXPECT_EQ(cases[1].fill_b.kind, "ones");
  EXPECT_EQ(cases[1].fill_bias.kind, "integers");
  EXPECT_EQ(cases[1].seed, 9u);
  EXPECT_THAT(cases[1].tags, ElementsAre("smoke", "ci"));
  EXPECT_THAT(cases[1].variants, ElementsAre("host_*"));
}

TEST(CaseFile, MistakesAreNamedWithFileAndLine) {
  auto error = [](const std::string& text) { return error_of([&] { parse_cases(text, "f.toml", "f"); }); };
  const std::string problem = "problem = \"gemm 4x8 * 8x4\"\n";
  EXPECT_EQ(error(toml(problem)), "accepted");
  EXPECT_THAT(error(""), HasSubstr("holds no [[case]]"));
  EXPECT_THAT(error("x = = 1"), HasSubstr("f.toml:1: no valid TOML"));
  EXPECT_THAT(error(toml("")), HasSubstr("f.toml:4: a case needs a problem"));
  EXPECT_THAT(error("[[case]]\nproblem = \"sum 3\""), HasSubstr("needs a name"));
  EXPECT_THAT(error(toml(problem + "fil = \"ones\"\n")),
              HasSubstr("f.toml:7: unknown key 'fil': did you mean 'fill'?"));
  EXPECT_THAT(error(toml(problem + "fill = \"unifrom\"\n")), HasSubstr("f.toml:7: unknown fill 'unifrom'"));
  EXPECT_THAT(error(toml(problem + "dtype = \"fp8\"\n")), HasSubstr("f.toml:7: unknown number format"));
  EXPECT_THAT(error(toml(problem + "tolerance = {atol = nan}\n")),
              HasSubstr("f.toml:7: a tolerance must be"));
  EXPECT_THAT(error(toml(problem + "tolerance = {atol = -1}\n")), HasSubstr("f.toml:7: a tolerance must be"));
  EXPECT_THAT(error(toml(problem + "tolerance = {tol = 1}\n")), HasSubstr("did you mean"));
  EXPECT_THAT(error(toml(problem + "tolerance = 1e-4\n")), HasSubstr("must be a table"));
  EXPECT_THAT(error(toml(problem + "seed = -1\n")), HasSubstr("f.toml:7: seed"));
  EXPECT_THAT(error(toml(problem + "seed = 1.5\n")), HasSubstr("f.toml:7: seed"));
  EXPECT_THAT(error(toml(problem + "tags = \"smoke\"\n")), HasSubstr("list of strings"));
  EXPECT_THAT(error(toml(problem + "[other]\n")), HasSubstr("unexpected 'other'"));
  EXPECT_THAT(error(toml("problem = \"gemm 4x8 * 9x4\"\n")), HasSubstr("f.toml:4: gemm:"));
  EXPECT_THAT(error(toml("problem = \"gemm 4x8 * 8x4 a=ones\"\n")), HasSubstr("f.toml:6: settings such as"));
  EXPECT_THAT(error(toml("problem = 3\n")), HasSubstr("non-empty string"));
  EXPECT_THAT(error("[defaults]\nname = \"x\"\n" + toml(problem).substr(20)), HasSubstr("belongs to a case"));
  EXPECT_THAT(error("case = 1\n"), HasSubstr("unexpected 'case'"));
  EXPECT_THAT(error("[[case]]\nname = \"a b\"\n" + problem), HasSubstr("no spaces"));
}

TEST(CaseFile, MissingFilesAndFolders) {
  EXPECT_THAT(error_of([] { load_cases("/nowhere/cases"); }), HasSubstr("cannot open"));
  EXPECT_THAT(error_of([] { load_cases(ULPSCOPE_SOURCE_DIR "/harness/io"); }), HasSubstr("holds no *.toml"));
}

// ---- the committed cases
// -----------------------------------------------------------------------------------

TEST(Cases, AllLoadAndPrintBack) {
  const auto all = load_cases(kCases);
  for (const Case& c : all) {
    const Case back = parse_case(to_string(c));
    EXPECT_EQ(to_string(back), to_string(c)) << c.name;
    EXPECT_EQ(back.problem, c.problem) << c.name;
  }
}

TEST(Cases, TheSeedsAreThereAtFullAndSmallSize) {
  const auto all = load_cases(kCases);
  for (const char* file : {"conv_transpose1d", "conv2d_pointwise"})
    for (const char* size : {"full", "small"})
      for (const char* fill : {"uniform", "normal"}) {
        const auto found = select_cases(all, {std::string(file) + "/" + size + "_" + fill});
        ASSERT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].fill_a.kind, fill);
        EXPECT_EQ(found[0].fill_b.kind, "default_weight");
        EXPECT_EQ(found[0].tolerance->atol, 1e-4);
        EXPECT_EQ(found[0].tolerance->rtol, 1e-4);
      }
  const Case big = select_cases(all, {"conv2d_pointwise/full_uniform"})[0];
  EXPECT_EQ(elements(output_shape(big.problem)), std::int64_t{1} << 31);
  EXPECT_EQ(output_shape(select_cases(all, {"conv_transpose1d/full_normal"})[0].problem),
            (Shape{32, 64, 131084}));
}

TEST(Cases, TheSmokeSuiteCoversEveryOperatorFillAndFormat) {
  const auto smoke = select_cases(load_cases(kCases), {"smoke"});
  EXPECT_GE(smoke.size(), 40u);
  std::set<std::string> ops, kinds, formats;
  std::int64_t products = 0;
  for (const Case& c : smoke) {
    ops.insert(c.problem.params.op);
    for (const Fill* f : {&c.fill_a, &c.fill_b}) kinds.insert(f->kind);
    formats.insert(std::string(name_of(c.in)) + ">" + name_of(c.out));
    const Contraction contraction = lower(c.problem);
    products += contraction.outputs() * contraction.terms();
  }
  const auto all_ops = operator_names();
  EXPECT_EQ(ops, std::set<std::string>(all_ops.begin(), all_ops.end()));
  EXPECT_EQ(kinds, std::set<std::string>(fill_kinds().begin(), fill_kinds().end()));
  for (const char* f : {"fp32>fp32", "bf16>fp32", "bf16>bf16", "fp16>fp32", "fp16>fp16"})
    EXPECT_TRUE(formats.contains(f)) << f;
  EXPECT_LT(products, 100'000'000) << "the smoke suite must stay a matter of seconds";
}

TEST(SelectCases, ByNameGlobFileTagAndText) {
  const auto all = parse_cases(
      "[[case]]\nname=\"x1\"\nproblem=\"sum 3\"\ntags=[\"t\"]\n"
      "[[case]]\nname=\"x2\"\nproblem=\"sum 4\"\n[[case]]\nname=\"y\"\nproblem=\"sum 5\"\ntags=[\"t\"]\n",
      "f.toml", "dir/f");
  auto names = [&](const std::vector<std::string>& patterns) {
    std::vector<std::string> list;
    for (const Case& c : select_cases(all, patterns)) list.push_back(c.name);
    return list;
  };
  EXPECT_THAT(names({"dir/f/x2"}), ElementsAre("dir/f/x2"));
  EXPECT_THAT(names({"dir/f/x?"}), ElementsAre("dir/f/x1", "dir/f/x2"));
  EXPECT_THAT(names({"*/y", "*x*"}), ElementsAre("dir/f/x1", "dir/f/x2", "dir/f/y"));
  EXPECT_THAT(names({"t", "t"}), ElementsAre("dir/f/x1", "dir/f/y"));
  EXPECT_THAT(names({"dir/f"}).size(), 3u);
  EXPECT_THAT(names({"dir"}).size(), 3u);
  EXPECT_THAT(names({"t", "sum 9 a=ones"}), ElementsAre("dir/f/x1", "dir/f/y", "sum 9 a=ones"));
  EXPECT_THAT(error_of([&] { names({"dir/f/x3"}); }), HasSubstr("did you mean 'dir/f/x1'?"));
  EXPECT_THAT(error_of([&] {
                names({"t", "nothing_like_it"});
              }),
              HasSubstr("no case matches 'nothing_like_it'"));
  EXPECT_THAT(error_of([&] { names({}); }), HasSubstr("no case is selected"));
}

}  // namespace
}  // namespace ulpscope
