// The pipeline on planted variants, each with one mistake, and on good ones: verdicts, order-freedom, going
// on after an interruption.
#include "harness/run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "harness/capture.hpp"
#include "harness/inputs.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/io/bytes.hpp"
#include "harness/judge_capture.hpp"
#include "harness/run_slabs.hpp"
#include "harness/stream_hash.hpp"
#include "harness/table.hpp"
#include "reference/arithmetic/operand.hpp"
#include "reference/error.hpp"
#include "reference/operators/random_problem.hpp"

namespace ulpscope {
namespace {

int launches = 0;

/// An fp32 FMA chain for gemm, with operands shortened to `format` first.
void chain(const LaunchArgs& args, OperandFormat format = OperandFormat::fp32) {
  const Contraction& c = *args.contraction;
  const auto *a = static_cast<const float*>(args.a), *b = static_cast<const float*>(args.b);
  auto* out = static_cast<float*>(args.out);
  for (std::int64_t o = 0; o < c.outputs(); ++o) {
    float sum = 0;
    for (const Term& t : terms_of(c, o))
      sum = std::fmaf(shorten(format, a[t.a]), shorten(format, b[t.b]), sum);
    out[o] = sum;
  }
}

Variant planted(const char* name, std::function<void(const LaunchArgs&)> launch, const char* plan = "") {
  Variant v;
  v.name = std::string("planted_") + name;
  v.op = "gemm";
  v.source = "harness/run_test.cpp";
  v.plan = [plan](const Problem&, Mode) { return std::string(plan); };
  v.launch = [launch](const LaunchArgs& args) {
    ++launches;
    launch(args);
    return LaunchNotes{"planted", {}, 0};
  };
  return v;
}
Variant atomics() {
  Variant v = planted("atomics", [](const LaunchArgs& args) {
    chain(args);
    static_cast<std::uint32_t*>(args.out)[7] += static_cast<std::uint32_t>(launches % 2);
  });
  v.deterministic = false;
  return v;
}
std::int64_t size_of_output(const LaunchArgs& args) {
  return args.contraction->outputs();
}

const Register r1{planted(
    "good", [](const LaunchArgs& a) { chain(a); }, "fp32 | fma")};
const Register r2{planted("lost_tail", [](const LaunchArgs& a) {
  const std::uint32_t kept = static_cast<std::uint32_t*>(a.out)[size_of_output(a) - 1];
  chain(a);
  static_cast<std::uint32_t*>(a.out)[size_of_output(a) - 1] = kept;
})};
const Register r3{planted("writes_outside", [](const LaunchArgs& a) {
  chain(a);
  static_cast<float*>(a.out)[size_of_output(a)] = 1;
})};
const Register r4{planted("one_wrong", [](const LaunchArgs& a) {
  chain(a);
  static_cast<float*>(a.out)[123] += 0.01f;
})};
const Register r5{planted("throws", [](const LaunchArgs&) { throw Error("out of device memory: planted"); })};
const Register r6{planted("race", [](const LaunchArgs& a) {
  chain(a);
  static_cast<std::uint32_t*>(a.out)[7] += static_cast<std::uint32_t>(launches % 2);
})};
const Register r7{atomics()};
const Register r8{planted("secret_tf32", [](const LaunchArgs& a) { chain(a, OperandFormat::tf32_rna); })};
const Register r9{planted(
    "declared_tf32", [](const LaunchArgs& a) { chain(a, OperandFormat::tf32_rna); }, "tf32_rna | fma")};
const Register r10{planted(
    "false_plan", [](const LaunchArgs& a) { chain(a); }, "fp32 | fma | split 2")};
const Register r11{planted(
    "unreadable_plan", [](const LaunchArgs& a) { chain(a); }, "fp32 | magic")};

const Register r13{planted("chain", [](const LaunchArgs& a) { chain(a); })};

// Four terms too few, in a sum so long that its bound hides them.
const Register r12{planted(
    "forgets",
    [](const LaunchArgs& args) {
      const Contraction& c = *args.contraction;
      for (std::int64_t o = 0; o < c.outputs(); ++o) {
        const std::vector<Term> terms = terms_of(c, o);
        float sum = 0;
        for (std::size_t t = 0; t < terms.size() / 8 * 8; ++t)
          sum = std::fmaf(static_cast<const float*>(args.a)[terms[t].a],
                          static_cast<const float*>(args.b)[terms[t].b], sum);
        static_cast<float*>(args.out)[o] = sum;
      }
    },
    "fp32 | fma")};

Case gemm_case() {
  Case c = parse_case("gemm 17x100 * 100x23 a=normal(0,1) b=normal(0,1) atol=1e-4 rtol=1e-4");
  c.name = "test/gemm";
  return c;
}

RunOptions only(const std::string& pattern, int threads = 1) {
  RunOptions o;
  o.variants = {pattern};
  o.device = DeviceChoice::cpu;
  o.threads = threads;
  return o;
}

nlohmann::json row_of(const std::string& variant) {
  return run_cases({gemm_case()}, only("planted_" + variant)).results.at(0);
}

// No data here could show it: within the bound of so long a sum, or all zeros.
TEST(Run, TermsThatTheDataDoNotMissAreMissedAmongOnes) {
  for (const char* text : {"gemm 4x20004 * 20004x4 a=uniform(0,1) b=default_weight", "gemm 4x60004 * 60004x4",
                           "gemm 4x12 * 12x4 a=zeros b=zeros"}) {
    const nlohmann::json row = run_cases({parse_case(text)}, only("planted_forgets")).results.at(0);
    EXPECT_EQ(row["verdict"], "structural") << text << row["reason"];
    EXPECT_NE(row["reason"].get<std::string>().find("terms are lost"), std::string::npos) << row["reason"];
    EXPECT_NE(row["effective_mode"], "bf16") << text;  // a lost term is no shortened operand
    EXPECT_EQ(row["sums_of_ones"]["wrong"], row["sums_of_ones"]["outputs"]) << text;
    EXPECT_NE(row["explanation"].dump().find("terms lost or added twice"), std::string::npos) << text;
  }
  // Where the data show it, the terms are named.
  const nlohmann::json named =
      run_cases({parse_case("gemm 9x20 * 20x9")}, only("planted_forgets")).results.at(0);
  EXPECT_EQ(named["verdict"], "structural") << named["reason"];
  EXPECT_NE(named["reason"].get<std::string>().find("the last 4 of 20 terms along k are missing"),
            std::string::npos)
      << named["reason"];
  EXPECT_EQ(named["explanation"]["cause"], "structural");
  // K is a multiple of its tile: nothing is lost.
  const nlohmann::json row =
      run_cases({parse_case("gemm 4x20000 * 20000x4")}, only("planted_forgets")).results.at(0);
  EXPECT_EQ(row["verdict"], "explained") << row["reason"];
  EXPECT_TRUE(row["sums_of_ones"].is_null());  // proved by its bits
}

// The errors of a long sum of equal terms add up to what another operand would make: no accusation. What
// really shortens its operands gives the bits of shortened ones, however long the sum.
TEST(Run, LongSumsAreNotTakenForShortOperands) {
  for (const int k : {500, 5000, 20004, 60004}) {
    const Case test = parse_case(fmt::format("gemm 2x{0} * {0}x2 a=uniform(0,1) b=uniform(0,1)", k));
    const nlohmann::json right = run_cases({test}, only("planted_chain")).results.at(0);
    EXPECT_NE(right["verdict"], "violated") << right["reason"];
    EXPECT_TRUE(right["effective_mode"] == "fp32" || (k > 512 && right["effective_mode"] == "unknown"))
        << k << right["effective_mode"];
    const nlohmann::json wrong = run_cases({test}, only("planted_secret_tf32")).results.at(0);
    EXPECT_EQ(wrong["effective_mode"], "tf32") << k;
    EXPECT_EQ(wrong["verdict"], "violated") << wrong["reason"];
  }
}

TEST(Run, EachPlantedMistakeGetsItsVerdict) {
  struct Expectation {
    const char *variant, *verdict, *reason, *effective;
  };
  for (const Expectation& e :
       {Expectation{"good", "explained", "same bits", "fp32"},
        {"lost_tail", "structural", "1 of 391 outputs were never written, the first at index 390", ""},
        {"writes_outside", "violated", "outside its output", ""},
        {"one_wrong", "violated", "1 of 391 outputs lie outside", ""},
        {"throws", "error", "out of device memory: planted", ""},
        {"race", "nondeterministic", "the first at index 7", ""},
        {"atomics", "nondeterministic", "declared, and within its bound", ""},
        {"secret_tf32", "violated", "", "tf32"},
        {"declared_tf32", "violated", "tf32_rna", "tf32"},
        {"false_plan", "bounded", "its plan gives the same bits in only", "fp32"},
        {"unreadable_plan", "error", "magic", ""}}) {
    const nlohmann::json row = row_of(e.variant);
    EXPECT_EQ(row["verdict"], e.verdict) << row["variant"] << ": " << row["reason"];
    EXPECT_NE(row["reason"].get<std::string>().find(e.reason), std::string::npos)
        << row["variant"] << row["reason"];
    if (*e.effective) {
      EXPECT_EQ(row["effective_mode"], e.effective) << row["variant"];
    }
    EXPECT_EQ(row["excused"], std::string(e.variant) == "atomics");
  }
  EXPECT_NE(
      render_table(run_cases({gemm_case()}, only("planted_false_plan"))).find("gives the same bits in only"),
      std::string::npos);
  EXPECT_EQ(row_of("one_wrong")["error"]["worst"]["index"], 123);
  EXPECT_EQ(row_of("one_wrong")["error"]["worst"]["coordinates"], (std::vector<int>{5, 8}));
}

TEST(Run, RowsHoldWhatTheContractNames) {
  const nlohmann::json row = row_of("good");
  for (const char* field : {"case", "variant", "mode", "effective_mode", "executed", "outputs", "error",
                            "bound", "expected_max", "verdict", "plan", "bit_identical", "runs_identical",
                            "input_hash", "output_hash", "reproduce", "operands"})
    EXPECT_TRUE(row.contains(field) && !row[field].is_null()) << field;
  for (const char* field :
       {"max_abs", "mean_abs", "mean_signed", "max_ulp", "p50_ulp", "p999_ulp", "max_scaled", "violations"})
    EXPECT_TRUE(row["error"].contains(field) && row["error"][field].is_number()) << field;
  EXPECT_EQ(row["executed"], "host");
  EXPECT_EQ(row["bit_identical"], 1.0);
  EXPECT_LE(row["error"]["max_abs"], row["bound"]);
  // The line reproduces the case, not only its name.
  EXPECT_NE(row["reproduce"].get<std::string>().find("'" + to_string(gemm_case()) + "'"), std::string::npos);
}

TEST(Run, ProgressSaysWhatIsJudged) {
  RunOptions options = only("planted_good");
  std::string said;
  options.progress = [&](const std::string& line) { said += line + "\n"; };
  run_cases({gemm_case()}, options);
  EXPECT_NE(said.find("test/gemm: running planted_good in fp32\n"), std::string::npos) << said;
  EXPECT_NE(said.find("test/gemm: judging planted_good in fp32, 100 %\n"), std::string::npos) << said;
  options.variants = {"planted_good", "planted_race"};
  said.clear();
  run_cases({gemm_case()}, options);
  EXPECT_NE(said.find("judging 2 results, 100 %\n"), std::string::npos) << said;
}

TEST(Run, ResultsDoNotDependOnThreads) {
  const std::vector<Case> cases{gemm_case(), parse_case("conv2d 2x3x17x19 * 4x3x3x3 s2 p1 bias"),
                                parse_case("conv_transpose1d 2x3x40 * 3x4x5 s2 p1 op1 d2"),
                                parse_case("mean 1000")};
  RunOptions options = only("*", 1);
  options.variants = {"host_*", "planted_good"};
  const Record one = run_cases(cases, options);
  options.threads = 5;
  const Record five = run_cases(cases, options);
  EXPECT_EQ(nlohmann::json(one.results).dump(), nlohmann::json(five.results).dump());
  EXPECT_EQ(one.results.size(), 17u);
  EXPECT_EQ(exit_code_of(one), 0);
}

TEST(Run, GoesOnWhereItStopped) {
  const std::string folder = testing::TempDir() + "ulpscope_run_" + std::to_string(getpid());
  RunOptions options = only("planted_good");
  options.captures = folder;
  launches = 0;
  const Record first = run_cases({gemm_case()}, options);
  EXPECT_EQ(launches, 2);
  const Record second = run_cases({gemm_case()}, options);
  EXPECT_EQ(launches, 2) << "nothing is run again";
  EXPECT_EQ(to_text({{}, first.results, {}}), to_text({{}, second.results, {}}));

  // Half a result, as no kill can leave it, one nested so deeply that no copy of it could be made, and one of
  // another experiment: all are done again.
  std::string stored;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".result.json")) stored = entry.path().string();
  std::filesystem::resize_file(stored, std::filesystem::file_size(stored) / 2);
  EXPECT_EQ(to_text({{}, run_cases({gemm_case()}, options).results, {}}), to_text({{}, first.results, {}}));
  EXPECT_EQ(launches, 4);
  std::string text(map_file(stored).text());
  const std::string row = "\"row\": {";
  ASSERT_NE(text.find(row), text.npos);
  text.insert(text.find(row) + row.size(),
              "\"x\": " + std::string(300000, '[') + std::string(300000, ']') + ",");
  write_text(stored, text);
  EXPECT_EQ(to_text({{}, run_cases({gemm_case()}, options).results, {}}), to_text({{}, first.results, {}}));
  EXPECT_EQ(launches, 6);
  Case other = gemm_case();
  other.seed = 99;
  run_cases({other}, options);
  EXPECT_EQ(launches, 8);
  // An error is tried again.
  options.variants = {"planted_throws"};
  run_cases({gemm_case()}, options);
  run_cases({gemm_case()}, options);
  EXPECT_EQ(launches, 10) << "one launch each: the first fails";
  std::filesystem::remove_all(folder);
}

TEST(JudgeCapture, GivesTheFiguresOfTheRun) {
  const std::string folder = testing::TempDir() + "ulpscope_judge_" + std::to_string(getpid());
  RunOptions options = only("*");
  options.variants = {"planted_good", "planted_one_wrong", "planted_lost_tail", "planted_atomics",
                      "planted_declared_tf32"};
  options.captures = folder;
  const Record ran = run_cases({gemm_case()}, options);
  Record judged = judge_captures({folder}, ReplayChoice::all, 1, {}, {});
  ASSERT_EQ(judged.results.size(), ran.results.size());
  for (std::size_t i = 0; i < ran.results.size(); ++i) {
    EXPECT_EQ(judged.results[i]["executed"], "recorded");
    for (const char* field : {"variant", "verdict", "reason", "excused", "error", "bound", "expected_max",
                              "plan", "bit_identical", "effective_mode", "input_hash", "output_hash"})
      EXPECT_EQ(judged.results[i][field], ran.results[i][field]) << ran.results[i]["variant"] << " " << field;
  }
  // Windows instead of the whole: fewer outputs are judged, and the verdict of what they hold stays.
  std::filesystem::remove_all(folder);
  options.variants = {"planted_good"};
  options.capture_bytes = 400;
  run_cases({gemm_case()}, options);
  judged = judge_captures({folder}, ReplayChoice::all, 1, {}, {});
  EXPECT_EQ(judged.results.at(0)["verdict"], "explained");
  EXPECT_LE(judged.results.at(0)["judged_outputs"], 100);
  EXPECT_GT(judged.results.at(0)["judged_outputs"], 0);

  Capture altered = read_capture(capture_files(folder).at(0));
  altered.input_hash[0] = altered.input_hash[0] == '0' ? '1' : '0';
  InputsCache cache;
  const Result r = judge_capture(altered, cache, ReplayChoice::none, 1);
  EXPECT_EQ(r.judgement.verdict, Verdict::error);
  EXPECT_NE(r.judgement.reason.find("inputs"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Selection, UnknownVariantsAreErrorsWithSuggestions) {
  try {
    check_selection({gemm_case()}, only("planted_god"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("planted_good"), std::string::npos) << e.what();
  }
  RunOptions none = only("planted_good");
  none.modes = {Mode::bf16};
  EXPECT_THROW(check_selection({gemm_case()}, none), Error);
}

TEST(CutSlabs, CoverEveryOutputOnceInTheRightPlace) {
  Random pick{std::mt19937_64(5)};
  int many = 0;
  const std::vector<std::string> operators = operator_names();
  for (std::size_t round = 0; round < 200; ++round) {
    const Contraction c = lower(random_problem(operators[round % operators.size()], pick));
    for (const std::int64_t target :
         {std::int64_t{1}, std::int64_t{7}, std::int64_t{50}, std::int64_t{100000}}) {
      std::vector<int> seen(static_cast<std::size_t>(c.outputs()));
      const std::vector<Slab> slabs = cut_slabs(c, target);
      many += slabs.size() > 1;
      for (const Slab& s : slabs) {
        ASSERT_EQ(s.part.outputs(), s.place.count());
        for (std::int64_t i = 0; i < s.place.count(); ++i) {
          const std::int64_t o =
              s.place.begin + i / s.place.row_length * s.place.row_stride + i % s.place.row_length;
          ++seen.at(static_cast<std::size_t>(o));
          const std::vector<Term> part = terms_of(s.part, i), whole = terms_of(c, o);
          ASSERT_EQ(part.size(), whole.size());
          for (std::size_t t = 0; t < part.size(); ++t)
            ASSERT_TRUE(part[t].a == whole[t].a && part[t].b == whole[t].b) << "output " << o;
          if (c.has_bias) {
            ASSERT_EQ(bias_index(s.part, i), bias_index(c, o));
          }
        }
      }
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; })) << "target " << target;
    }
  }
  EXPECT_GT(many, 200);
}

TEST(StreamHash, IsTheHashOfTheWhole) {
  std::vector<std::uint32_t> data((StreamHash::kChunk * 2 + 4000) / 4);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(i * 2654435761u);
  const auto* bytes = reinterpret_cast<const char*>(data.data());
  StreamHash hash(data.size() * 4);
  for (const std::size_t chunk : {2, 0, 1})
    hash.add(chunk, bytes + chunk * StreamHash::kChunk,
             std::min(StreamHash::kChunk, data.size() * 4 - chunk * StreamHash::kChunk));
  EXPECT_EQ(hash.hex(), hash_bytes(data.data(), data.size() * 4));
  EXPECT_EQ(StreamHash(0).hex().size(), 32u);
}

}  // namespace
}  // namespace ulpscope
