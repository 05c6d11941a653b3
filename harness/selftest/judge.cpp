// Broken kernels' outputs as captures before the production judge; evidence that must not pass; and judges
// that overlook something.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/capture.hpp"
#include "harness/judge_capture.hpp"
#include "harness/selftest/scene.hpp"
#include "harness/selftest/selftest.hpp"

namespace ulpscope::selftest {
namespace {

using Outputs = std::vector<float>;
constexpr const char* kLinear =
    "linear 12x37 * 10x37 bias a=normal(0,1) b=normal(0,1) bias=normal(0,1) seed=21";
constexpr std::int64_t kM = 12, kK = 37, kN = 10;

/// A kernel of one's own: y = x w^T + bias, FMAs in order. `shorten` is applied to operands.
struct Kernel {
  std::int64_t terms = kK;
  bool bias = true, transposed = false;
  float (*shorten)(float) = nullptr;
  std::int64_t row_shift = 0;

  Outputs run(const Inputs& in) const {
    Outputs y;
    for (std::int64_t i = 0; i < kM; ++i)
      for (std::int64_t j = 0; j < kN; ++j) {
        float acc = 0;
        for (std::int64_t k = 0; k < terms; ++k) {
          float a = in.a.as<float>()[(i + row_shift) % kM * kK + k];
          float b = in.b.as<float>()[transposed ? (k * kN + j) : (j * kK + k)];
          if (shorten) a = shorten(a), b = shorten(b);
          acc = std::fma(a, b, acc);
        }
        y.push_back(bias ? acc + in.bias.as<float>()[j] : acc);
      }
    return y;
  }
};

float to_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000) & ~0x1fffu);
}
float to_bf16(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x8000) & 0xffff0000u);
}

Capture capture_of(const Outputs& outputs) {
  Capture c;
  c.test = parse_case(kLinear);
  c.test.name = "self-test";
  c.variant = "planted";
  c.executed = "host";
  c.declared_plan = "fp32 | fma";
  c.effective_mode = "fp32";
  c.input_hash = make_inputs(c.test, 1).hash;
  Tensor bits = make_tensor(DType::f32, {static_cast<std::int64_t>(outputs.size())});
  std::memcpy(bits.data.get(), outputs.data(), outputs.size() * sizeof(float));
  c.windows.push_back({0, bits});
  c.output_hash = hash_bytes(bits.data.get(), bits.view().bytes(), 1);
  return c;
}

std::string judged(const Capture& capture) {
  InputsCache cache;
  const Result r = judge_capture(capture, cache, ReplayChoice::all, 1);
  if (passes(r.judgement.verdict)) return "";
  return std::string(to_string(r.judgement.verdict)) + ": " + r.judgement.reason;
}

Outputs right_outputs() {
  return Kernel{}.run(make_inputs(parse_case(kLinear), 1));
}

Plant kernel(const std::string& what, const Kernel& k, bool control = false) {
  return {"judge", what, [k] { return judged(capture_of(k.run(make_inputs(parse_case(kLinear), 1)))); },
          control};
}

Plant output(const std::string& what, const std::function<void(Outputs&)>& change) {
  return {"judge", what, [change] {
            Outputs o = right_outputs();
            change(o);
            return judged(capture_of(o));
          }};
}

Plant capture(const std::string& what, const std::function<void(Capture&)>& change) {
  return {"judge", what, [change] {
            Capture c = capture_of(right_outputs());
            change(c);
            return judged(c);
          }};
}

/// Evidence of a pass, before something is planted.
Evidence passing() {
  const Scene& s = plain_scene();
  Outputs o = s.outputs;
  for (float& x : o) x = std::nextafter(x, 1e30f);
  return evidence_of(s, o);
}

ReplayOutcome replayed(const Evidence& e, bool admitted) {
  return {"tf32_rna | fma", e.measured->outputs, e.measured->outputs, admitted, "operands are shortened"};
}

using Judge = std::function<Judgement(Evidence)>;

/// Evidence with known verdicts: the first that the judge gets wrong, "" if none.
std::string weakness(const Judge& given) {
  const auto expect = [&](const char* what, Verdict verdict, const std::function<void(Evidence&)>& change) {
    Evidence e = passing();
    change(e);
    const Verdict got = given(e).verdict;
    return got == verdict ? std::string() : fmt::format("{} is called {}", what, to_string(got));
  };
  for (const std::string& wrong : {
           expect("a result within its bound", Verdict::bounded, [](Evidence&) {}),
           expect("a run-to-run difference", Verdict::nondeterministic, [](Evidence& e) { e.differing = 1; }),
           expect("an unwritten output", Verdict::structural, [](Evidence& e) { e.unwritten = 1; }),
           expect("a write beside the output", Verdict::violated,
                  [](Evidence& e) { e.guards_intact = false; }),
           expect("TF32 in fp32", Verdict::violated, [](Evidence& e) { e.effective_mode = "tf32"; }),
           expect("bf16 in TF32", Verdict::violated,
                  [](Evidence& e) { e.mode = Mode::tf32, e.effective_mode = "bf16"; }),
           expect("a kernel that loses a term of ones", Verdict::structural,
                  [](Evidence& e) {
                    e.ones = {16, 16, 0, 12, 11};
                  }),
           expect("a plan that the mode does not admit", Verdict::violated,
                  [](Evidence& e) { e.replay = replayed(e, false); }),
           expect("an error beyond its bound", Verdict::violated,
                  [](Evidence& e) { e.measured->beyond_bound = 1, e.measured->headroom = 1.01; }),
           expect("no judged output", Verdict::vacuous, [](Evidence& e) { e.measured->outputs = 0; }),
           expect("a result without any bound", Verdict::vacuous,
                  [](Evidence& e) { e.measured->unbounded = e.measured->outputs; }),
           expect("what did not run", Verdict::skipped, [](Evidence& e) { e.status = "skipped"; }),
           expect("a failure", Verdict::error, [](Evidence& e) { e.status = "error"; }),
           expect("a missing measurement", Verdict::error, [](Evidence& e) { e.measured.reset(); }),
           expect("a plan that gives all bits", Verdict::explained,
                  [](Evidence& e) { e.replay = replayed(e, true); }),
           expect("a plan that gives all bits but one", Verdict::bounded,
                  [](Evidence& e) { e.replay = replayed(e, true), --e.replay->equal; }),
       })
    if (!wrong.empty()) return wrong;
  return "";
}

Plant mutant(const std::string& what, const std::function<void(Evidence&)>& overlooks) {
  return {"judge", "a judge that " + what, [overlooks] {
            return weakness([overlooks](Evidence e) {
              overlooks(e);
              return judge(e);
            });
          }};
}

}  // namespace

std::vector<Plant> judge_plants() {
  return {
      kernel("a right kernel", {}, true),
      kernel("a kernel that loses its tail", {.terms = kK / 8 * 8}),
      kernel("a kernel that loses one term", {.terms = kK - 1}),
      kernel("a kernel with TF32 operands in mode fp32", {.shorten = to_tf32}),
      kernel("a kernel with bf16 operands in mode fp32", {.shorten = to_bf16}),
      kernel("a kernel without its bias", {.bias = false}),
      kernel("a kernel that takes its weight transposed", {.transposed = true}),
      kernel("a kernel one row off", {.row_shift = 1}),
      output("zeros instead of results", [](Outputs& o) { o.assign(o.size(), 0); }),
      output("a zero tile in a capture", [](Outputs& o) { std::fill(o.begin() + 40, o.begin() + 48, 0.0f); }),
      output("results of other inputs",
             [](Outputs& o) {
               Case other = parse_case(kLinear);
               other.seed = 22;
               o = Kernel{}.run(make_inputs(other, 1));
             }),
      output("the bias twice",
             [](Outputs& o) {
               const Inputs in = make_inputs(parse_case(kLinear), 1);
               for (std::size_t i = 0; i < o.size(); ++i) o[i] += in.bias.as<float>()[i % kN];
             }),
      output("results in fp16",
             [](Outputs& o) {
               for (float& x : o) x = std::ldexp(std::round(std::ldexp(x, 10)), -10);
             }),
      output("a NaN in a capture", [](Outputs& o) { o[9] = std::numeric_limits<float>::quiet_NaN(); }),
      capture("a capture of other inputs", [](Capture& c) { c.input_hash = std::string(32, '0'); }),
      capture("a capture whose two runs differ", [](Capture& c) { c.runs_differing = 1; }),
      capture("a capture with an unwritten output", [](Capture& c) { c.unwritten = 1; }),
      capture("a capture that wrote beside its output", [](Capture& c) { c.guards_intact = false; }),
      capture("a capture of a library call that used TF32",
              [](Capture& c) { c.declared_plan = "fp32 | fma | order -k", c.effective_mode = "tf32"; }),
      {"judge", "the judge itself", [] { return weakness(judge); }, true},
      mutant("overlooks run-to-run differences", [](Evidence& e) { e.differing = 0; }),
      mutant("overlooks unwritten outputs", [](Evidence& e) { e.unwritten = 0; }),
      mutant("overlooks guard bytes", [](Evidence& e) { e.guards_intact = true; }),
      mutant("overlooks sums of ones", [](Evidence& e) { e.ones.wrong = 0; }),
      mutant("believes flags about the mode", [](Evidence& e) { e.effective_mode.clear(); }),
      mutant("admits every plan",
             [](Evidence& e) {
               if (e.replay) e.replay->admitted = true;
             }),
      mutant("overlooks the bound",
             [](Evidence& e) {
               if (e.measured) e.measured->beyond_bound = 0;
             }),
      mutant("passes what has no bound",
             [](Evidence& e) {
               if (e.measured) e.measured->unbounded = 0;
             }),
      mutant("takes most bits for all",
             [](Evidence& e) {
               if (e.replay) e.replay->equal = e.replay->compared;
             }),
      mutant("judges what did not run", [](Evidence& e) { e.status = "ok"; }),
  };
}

}  // namespace ulpscope::selftest
