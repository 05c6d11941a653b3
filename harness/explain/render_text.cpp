#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/explain/render.hpp"
#include "reference/counted.hpp"

namespace ulpscope {
namespace {

std::string side_words(const char* who, const SideReport& s) {
  std::string t = fmt::format("The {} is {}: {}.", who, to_string(s.verdict), s.why);
  if (s.plan && s.why.find(*s.plan) == std::string::npos) t += " Plan: " + *s.plan + ".";
  t += fmt::format(
      " Against the exact result it is off by at most {:.3g} (mean {:.3g}, signed {:+.2g}; {:.3g} ulp at the "
      "median).",
      s.error.max_abs, s.error.mean_abs, s.error.mean_signed, s.error.p50_ulp);
  return t;
}

std::string closer(const Explanation& e) {
  const double c = e.candidate.error.max_abs, r = e.reference->error.max_abs;
  if (c == r) return "Both are equally far from the truth.";
  const bool candidate = c < r;
  const double ratio = candidate ? r / std::max(c, 1e-300) : c / std::max(r, 1e-300);
  return fmt::format("The {} is closer to the truth{}.", candidate ? "candidate" : "reference",
                     ratio < 1e6 ? fmt::format(", {:.3g} times", ratio) : "");
}

std::string tolerance_words(const Explanation& e) {
  const Attainability& a = e.attainable;
  auto word = [](bool ok, double p) {
    return ok ? std::string("can meet it")
              : fmt::format("cannot be relied on to meet it (P(fail) {:.2g})", p);
  };
  std::string t = fmt::format(
      "Tolerance atol {:g}, rtol {:g}: a correct fp32 kernel {}; a correct TF32 kernel {}.", e.tolerance.atol,
      e.tolerance.rtol, word(a.fp32, a.p_fail_fp32), word(a.tf32, a.p_fail_tf32));
  t += fmt::format(" With rtol {:g}, a correct fp32 kernel needs atol {:.2g}{}.", a.suggested_rtol,
                   a.suggested_atol, e.reference ? " against this reference" : " against the exact result");
  if (e.zeros_pass)
    t += " This tolerance accepts zeros: it would pass a kernel that writes nothing (vacuous).";
  return t;
}

std::string next_step(const Explanation& e) {
  if (e.cause == "none" &&
      (e.candidate.verdict == Verdict::structural || e.candidate.verdict == Verdict::violated))
    return "The two agree, but not with these operands: check the operands and the parameters given here, "
           "then "
           "what wrote both.";
  if (e.cause == "none") return "Nothing to do.";
  if (e.cause == "inputs_differ")
    return "Dump both sides from the same inputs and weights, then compare again.";
  if (e.cause == "nonfinite")
    return "Find out who writes (or does not write) these outputs before looking at any rounding.";
  if (e.cause == "nondeterminism")
    return e.repeats.race ? "Look for a race: the spread is more than any order of summation can cause."
                          : "Expect this of atomics; ask for a deterministic algorithm, or judge each run "
                            "against the exact result.";
  if (e.cause == "structural") return "Mend the kernel: this is no rounding.";
  if (e.cause == "reference_precision")
    return "Judge against the exact result, or set the library to strict fp32 (no TF32): matching the "
           "reference would make the kernel less accurate.";
  if (e.cause == "candidate_precision")
    return "Turn the candidate's reduced precision off, or judge it by the bound of the precision it was "
           "allowed.";
  if (e.cause == "tie_rounding")
    return "Round operands by the reference's rule if the same bits are wanted; neither rule is more "
           "accurate.";
  if (e.cause == "accumulation_order" || e.cause == "accumulator")
    return "Nothing is wrong: judge by the bound, or add in the reference's order if the same bits are "
           "wanted.";
  for (const SideReport* side : {&e.candidate, e.reference ? &*e.reference : nullptr})
    if (side && !side->plan && misses_exact_sums(side->error))
      return "Ask the library for an engine that does not transform its operands (Winograd, FFT), and check "
             "that "
             "these are the operands that were used.";
  return "Run the kernel on small integers, where every order agrees in every bit, and look at the strata "
         "above.";
}

std::string added_as(const std::string& tree) {
  return tree.empty() ? "" : " (terms added as " + tree + ")";
}

// A bar would end a table's cell.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string ladder_of(const std::vector<Rung>& rungs) {
  std::string t =
      "| rung | status | largest left over | mean | equal bits | |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const Rung& r : rungs)
    t += r.measured
             ? fmt::format("| {} | {} | {:.3g} | {:.3g} | {:.2f} % | {} |\n", r.name, to_string(r.status),
                           r.max_residual, r.mean_residual, 100 * r.equal_share, cell(r.note))
             : fmt::format("| {} | {} | | | | {} |\n", r.name, to_string(r.status), cell(r.note));
  return t;
}

}  // namespace

std::string summary_of(const Explanation& e) {
  std::string t = fmt::format("Cause: {}: {}.\n", e.cause, e.cause_why);
  if (e.pair)
    t += fmt::format("The two differ by at most {:.3g} (mean {:.3g}), {} of {} beyond the tolerance.\n",
                     e.pair->max_abs, e.pair->mean_abs, e.pair->violations, counted(e.outputs, "output"));
  t += side_words("candidate", e.candidate) + "\n";
  if (e.reference) t += side_words("reference", *e.reference) + "\n" + closer(e) + "\n";
  if (e.candidate.mistake) t += "Evidence: " + e.candidate.mistake->evidence + ".\n";
  if (e.reference && e.reference->mistake)
    t += "Evidence (reference): " + e.reference->mistake->evidence + ".\n";
  const auto& w = e.candidate.error.worst;
  if (w.index >= 0 && w.condition > 1e4)
    t += fmt::format(
        "The worst element in scaled error is [{}]: {:.9g} for {:.9g}, condition number {:.2g}, {:.2g} of "
        "2^-24 S: large relative errors beside zero are cancellation, not a fault by themselves.\n",
        fmt::join(w.coordinates, ", "), w.candidate, w.exact, w.condition, e.candidate.error.max_scaled);
  if (e.repeats.differing)
    t += fmt::format("First differing output {}: {:.9g}{} in one dump, {:.9g}{} in another.\n",
                     e.repeats.first_index, e.repeats.first_a, added_as(e.repeats.tree_a), e.repeats.first_b,
                     added_as(e.repeats.tree_b));
  if (e.batch)
    t += fmt::format(
        "{} of a call's {} rows were dumped. Libraries choose order and split by the number of rows: the "
        "same "
        "row may have other bits in another batch, {}by at most {:.2g}.\n",
        e.rows, e.batch,
        e.candidate.plan ? "here it came out of `" + *e.candidate.plan + "`, and may differ " : "differing ",
        e.batch_spread);
  t += tolerance_words(e) + "\nNext: " + next_step(e) + "\n";
  return t;
}

std::string markdown_of(const Explanation& e) {
  std::string t = fmt::format("# ulpscope explain: {}\n\n{}\n", e.cause, e.summary);
  t += "## Both sides\n\n" + ladder_of(e.rungs);
  t += fmt::format("\n## Candidate {}\n\n", e.candidate.name) + ladder_of(e.candidate.rungs);
  for (std::size_t i = 0; i < e.others.size(); ++i)
    t += fmt::format("\n## Candidate {}: {}\n\n{}\n\n", e.others[i].name, e.other_causes[i],
                     side_words("candidate", e.others[i])) +
         ladder_of(e.others[i].rungs);
  if (e.reference)
    t += fmt::format("\n## Reference {}\n\n", e.reference->name) + ladder_of(e.reference->rungs);
  return t;
}

std::string how_to_dump() {
  return R"(# Python: dump one layer's tensors. bf16 and fp16 results become floats: then say --candidate-dtype bf16.
import numpy as np, torch

def dump(path, **tensors):
    np.savez(path, **{k: v.detach().float().cpu().numpy() for k, v in tensors.items()})

m = torch.nn.ConvTranspose1d(32, 64, 5, dilation=3).cuda()
x = torch.rand(1, 32, 512, device="cuda")
torch.backends.cudnn.allow_tf32 = True   # nn.Linear, torch.matmul: torch.backends.cuda.matmul.allow_tf32
y_lib = m(x)
torch.backends.cudnn.allow_tf32 = False
y = m(x)                                 # or your own kernel
dump("d.npz", x=x, w=m.weight, b=m.bias, y=y, y_lib=y_lib)  # before m.bfloat16(): it rounds m.weight in place

# Then, in a shell:
#   ulpscope explain --op conv_transpose1d --dilation 3 --input d.npz:x --weight d.npz:w --bias d.npz:b \
#     --candidate d.npz:y --reference d.npz:y_lib --atol 1e-4 --rtol 1e-4 --summary
# nn.Conv2d: --op conv2d. nn.Linear: --op linear (--batch ROWS where only some rows were dumped).
# torch.matmul(x, w): --op gemm. Part of a huge output: --output-slice FROM:TO per spatial axis.
)";
}

}  // namespace ulpscope
