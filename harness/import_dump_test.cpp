#include "harness/import_dump.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "harness/inputs.hpp"
#include "harness/io/npz.hpp"
#include "harness/judge_capture.hpp"
#include "reference/error.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

using testing::HasSubstr;

/// A 2-D convolution whose operands and result lie in an archive, as a framework would have dumped them.
class Import : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_import_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    test_ = parse_case("conv2d 2x3x6x7 * 4x3x3x3 p1 seed=3");
    inputs_ = make_inputs(test_, 1);
    const Contraction c = lower(test_.problem);
    shape_ = c.out_shape;
    whole_ = make_tensor(DType::f32, shape_);
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      float sum = 0;
      for (const Term& t : terms_of(c, o))
        sum = std::fmaf(inputs_.a.as<float>()[t.a], inputs_.b.as<float>()[t.b], sum);
      whole_.as<float>()[o] = sum;
    }
    call_.case_text = to_string(test_);
    call_.a = path() + ":x";
    call_.b = path() + ":w";
    call_.output = path() + ":y";
    write(whole_, whole_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/dump.npz"; }
  void write(const Tensor& y, const Tensor& again) const {
    const std::vector<NpzMember> members{{"x.npy", inputs_.a.view(), ""},
                                         {"w.npy", inputs_.b.view(), ""},
                                         {"y.npy", y.view(), ""},
                                         {"again.npy", again.view(), ""}};
    write_npz(path(), members);
  }
  Result judged(const Capture& capture) const {
    const std::string file = folder_ + "/capture.npz";
    write_capture(file, capture);
    InputsCache cache;
    return judge_capture(read_capture(file), cache, ReplayChoice::all, 1);
  }
  std::string error() const {
    try {
      import_dump(call_, 1);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }

  std::string folder_;
  Case test_;
  Inputs inputs_;
  Shape shape_;
  Tensor whole_;
  DumpedCall call_;
};

TEST_F(Import, AWholeResultIsJudged) {
  call_.device = "a GPU";
  call_.variant = "framework";
  call_.name = "dumped";
  const Capture c = import_dump(call_, 1);
  EXPECT_EQ(c.output_hash, hash_bytes(whole_.data.get(), whole_.view().bytes()));
  EXPECT_EQ(c.environment["device"]["name"], "a GPU");
  const Result r = judged(c);
  EXPECT_EQ(r.judgement.verdict, Verdict::explained) << r.judgement.reason;
  EXPECT_EQ(r.variant, "framework");
  EXPECT_EQ(r.test.name, "dumped");
  EXPECT_EQ(r.executed, "recorded");
}

// The case's fills and seed made nothing here: no line of the record may say so.
TEST_F(Import, ARecordShowsNoFillsOfADump) {
  const std::string path = folder_ + "/capture.npz";
  write_capture(path, import_dump(call_, 1));
  const Record record = judge_captures({path}, ReplayChoice::all, 1, {}, {});
  const auto& row = record.results.at(0);
  const std::string text = row.at("case_text");
  for (const char* word : {"seed=", " a=", " b=", "uniform"})
    EXPECT_THAT(text + row["reproduce"].get<std::string>(), ::testing::Not(::testing::HasSubstr(word)));
  EXPECT_EQ(to_string(parse_case(text).problem), to_string(test_.problem));
  EXPECT_EQ(row.at("explanation").at("operands"), "fp32");
  EXPECT_EQ(record.cases.at(0).at("case"), row.at("case"));
}

TEST_F(Import, SlicesBecomeWindowsInTheirPlaces) {
  struct Part {
    const char* text;
    std::int64_t rows[2], columns[2];
    std::size_t windows;
  };
  for (const Part& part : {Part{"1:4,2:7", {1, 4}, {2, 7}, 2 * 4 * 3},
                           {"2:5,0:7", {2, 5}, {0, 7}, 2 * 4},
                           {"0:6,0:7", {0, 6}, {0, 7}, 1},
                           {"5:6,6:7", {5, 6}, {6, 7}, 2 * 4}}) {
    Tensor y =
        make_tensor(DType::f32, {2, 4, part.rows[1] - part.rows[0], part.columns[1] - part.columns[0]});
    std::int64_t i = 0;
    for (std::int64_t plane = 0; plane < 8; ++plane)
      for (std::int64_t row = part.rows[0]; row < part.rows[1]; ++row)
        for (std::int64_t column = part.columns[0]; column < part.columns[1]; ++column)
          y.as<float>()[i++] = whole_.as<float>()[(plane * 6 + row) * 7 + column];
    ASSERT_EQ(i, y.size());
    write(y, y);
    call_.slice = part.text;
    const Capture c = import_dump(call_, 1);
    EXPECT_EQ(c.windows.size(), part.windows) << part.text;
    std::int64_t seen = 0;
    for (const Window& w : c.windows)
      for (std::int64_t k = 0; k < w.bits.size(); ++k, ++seen)
        EXPECT_EQ(w.bits.as<float>()[k], whole_.as<float>()[w.begin + k]) << part.text;
    EXPECT_EQ(seen, y.size());
    EXPECT_EQ(judged(c).judgement.verdict, Verdict::explained) << part.text;
  }
}

TEST_F(Import, ARepeatThatDiffersIsNondeterministic) {
  Tensor again = make_tensor(DType::f32, shape_);
  std::copy_n(whole_.as<float>(), whole_.size(), again.as<float>());
  again.as<std::uint32_t>()[30] ^= 1;
  again.as<std::uint32_t>()[200] ^= 1;
  write(whole_, again);
  call_.repeat = path() + ":again";
  const Result r = judged(import_dump(call_, 1));
  EXPECT_EQ(r.judgement.verdict, Verdict::nondeterministic);
  EXPECT_EQ(r.judgement.reason, "two runs differ in 2 of 336 outputs, the first at index 30");
  EXPECT_FALSE(r.judgement.excused);
  call_.notes = {"NONDETERMINISTIC"};
  EXPECT_TRUE(judged(import_dump(call_, 1)).judgement.excused);
}

TEST_F(Import, WhatDoesNotFitIsRefused) {
  for (const char* slice : {"1:4", "1:4,2:8", "4:4,0:7", "a:b,0:7", "1:4,2:7,0:1", "1:4 2:7", "-1:4,0:7",
                            "1:99999999999999999999,0:7", ":,:"}) {
    call_.slice = slice;
    EXPECT_THAT(error(), HasSubstr("--output-slice '")) << slice;
  }
  call_.slice = "1:4,2:7";
  EXPECT_THAT(error(), HasSubstr("but the output is 2x4x3x5"));
  call_.slice = "";
  call_.b = path() + ":x";
  EXPECT_THAT(error(), HasSubstr("--weight"));
  call_.b = "";
  EXPECT_THAT(error(), HasSubstr("--weight is missing"));
  call_.b = path() + ":w";
  call_.plan = "fp32 | magic";
  EXPECT_THAT(error(), HasSubstr("magic"));
}

}  // namespace
}  // namespace ulpscope
