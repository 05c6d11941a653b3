// ulpscope explain: two dumped tensors (or one): why do they differ?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/explain/render.hpp"
#include "harness/explain/trees.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/io/read_tensor.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

struct Options {
  std::string op, input, weight, bias, reference, reference_input, reference_weight, reference_bias;
  std::string stride, padding, output_padding, dilation, target, slice, mode, candidate_dtype,
      reference_dtype;
  std::vector<std::string> candidates, repeats, plans;
  std::int64_t groups = 1, batch = 0;
  bool transpose_input = false, transpose_weight = false;
  double atol = 1e-4, rtol = 1e-4, seconds = 10;
  int threads = 0;
  std::string json, markdown;
  bool summary = false, how_to_dump = false;
};

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string p; std::getline(in, p, ',');) parts.push_back(p);
  return parts;
}

std::int64_t integer(const std::string& text, const std::string& option) {
  std::size_t used = 0;
  std::int64_t value = 0;
  try {
    value = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (text.empty() || used != text.size()) throw Error(option + ": '" + text + "' is not a whole number");
  return value;
}

// "2" for every axis, or "1,2" one each.
void per_axis(const std::string& text, const std::string& option, int rank,
              std::array<std::int64_t, 3>& values) {
  if (text.empty()) return;
  const auto parts = parts_of(text);
  if (rank == 0) {  // the default changes nothing
    if (parts.size() == 1 && integer(parts[0], option) == values[0]) return;
    throw Error(option + " is for convolutions: this operator has no spatial axes");
  }
  if (parts.size() != 1 && parts.size() != static_cast<std::size_t>(rank))
    throw Error(option + " needs one value, or one for each of the " + std::to_string(rank) +
                " spatial axes");
  for (int i = 0; i < rank; ++i)
    values[static_cast<std::size_t>(i)] =
        integer(parts[parts.size() == 1 ? 0 : static_cast<std::size_t>(i)], option);
}

Contraction cut(const Contraction& whole, const std::string& text, int rank) {
  if (text.empty()) return whole;
  const auto parts = parts_of(text);
  if (rank == 0 || parts.size() != static_cast<std::size_t>(rank))
    throw Error("--output-slice needs FROM:TO for each of the operator's " + std::to_string(rank) +
                " spatial axes");
  Contraction c = whole;
  for (int i = 0; i < rank; ++i) {
    const std::string& p = parts[static_cast<std::size_t>(i)];
    const auto colon = p.find(':');
    if (colon == std::string::npos) throw Error("--output-slice: '" + p + "' is not FROM:TO");
    const int axis = static_cast<int>(c.out.size()) - rank + i;
    c = slice(c, axis, integer(p.substr(0, colon), "--output-slice"),
              integer(p.substr(colon + 1), "--output-slice"));
  }
  return c;
}

Shape squeezed(const Shape& s) {
  Shape r;
  for (const std::int64_t n : s)
    if (n != 1) r.push_back(n);
  return r;
}

Dump dump_of(const std::string& spec, const std::string& dtype, const Contraction& c) {
  std::optional<DType> as;
  if (!dtype.empty()) as = parse_dtype(dtype);
  Dump d{spec, read_tensor(spec, as)};
  if (d.output.dtype == DType::f64)
    d.output = read_tensor(spec, DType::f32);  // refused where a value would change
  if (squeezed(d.output.shape) != squeezed(c.out_shape))
    throw Error(spec + " has shape " + to_string(d.output.shape) + ", but the operator's output is " +
                to_string(c.out_shape) +
                ": check the parameters, or name the dumped part with --output-slice");
  return d;
}

ExplainRequest request_of(const Options& o, std::vector<Tensor>& keep) {
  const auto names = operator_names();
  if (o.op.empty()) throw Error("--op is missing: name the operator, such as conv2d or gemm");
  if (std::find(names.begin(), names.end(), o.op) == names.end())
    throw Error("unknown operator '" + o.op + "'" + suggestion(o.op, names));
  if (o.input.empty()) throw Error("--input is missing: the tensor that the operator was given");
  if (o.candidates.empty()) throw Error("--candidate is missing: the result to explain");
  ExplainRequest r;
  OperatorParams& p = r.problem.params;
  p.op = o.op;
  const int rank = spatial_rank(o.op);
  per_axis(o.stride, "--stride", rank, p.stride);
  per_axis(o.padding, "--padding", rank, p.padding);
  per_axis(o.output_padding, "--output-padding", rank, p.output_padding);
  per_axis(o.dilation, "--dilation", rank, p.dilation);
  p.groups = o.groups;
  p.transpose_a = o.transpose_input;
  p.transpose_b = o.transpose_weight;
  p.bias = !o.bias.empty();
  if (!o.target.empty()) p.target = parse_shape(o.target);
  auto read = [&](const std::string& spec) {
    keep.push_back(read_tensor(spec));
    return keep.back().view();
  };
  auto operands = [&](const std::string& a, const std::string& b, const std::string& bias) {
    Operands x;
    x.a = read(a);
    if (!b.empty()) x.b = read(b);
    if (!bias.empty()) x.bias = read(bias);
    return x;
  };
  r.operands = operands(o.input, o.weight, o.bias);
  r.problem.a = r.operands.a.shape;
  if (r.operands.b.data) r.problem.b = r.operands.b.shape;
  const bool one = o.op == "sum" || o.op == "mean";
  if (one != o.weight.empty())
    throw Error(one ? "--weight is not for " + o.op : "--weight is missing: " + o.op + " has two operands");
  r.contraction = cut(lower(r.problem), o.slice, rank);
  if (o.batch != 0) {
    const std::int64_t rows = r.contraction.outputs() / r.contraction.out_shape.back();
    if (o.op != "linear")
      throw Error(
          "--batch is for --op linear: it says how many rows the call had that the dumped ones came "
          "from");
    if (o.batch < rows)
      throw Error("--batch " + std::to_string(o.batch) + ": " + std::to_string(rows) +
                  " rows were dumped, so the call had at least as many");
    r.batch = o.batch;
  }
  if (p.bias && r.operands.bias.size() != r.contraction.bias_size)
    throw Error("--bias has " + std::to_string(r.operands.bias.size()) + " elements, the operator needs " +
                std::to_string(r.contraction.bias_size));
  if (!o.reference_input.empty() || !o.reference_weight.empty() || !o.reference_bias.empty()) {
    auto or_own = [](const std::string& own, const std::string& other) { return own.empty() ? other : own; };
    r.reference_operands = operands(or_own(o.reference_input, o.input), or_own(o.reference_weight, o.weight),
                                    or_own(o.reference_bias, o.bias));
    if (r.reference_operands->a.shape != r.operands.a.shape ||
        r.reference_operands->b.shape != r.operands.b.shape)
      throw Error(
          "the reference's inputs have other shapes than the candidate's: they cannot be two results of one "
          "call");
  }
  for (const std::string& c : o.candidates)
    r.candidates.push_back(dump_of(c, o.candidate_dtype, r.contraction));
  if (!o.reference.empty()) r.reference = dump_of(o.reference, o.reference_dtype, r.contraction);
  for (const std::string& c : o.repeats) r.repeats.push_back(dump_of(c, o.candidate_dtype, r.contraction));
  if (!o.mode.empty()) r.mode = parse_mode(o.mode);
  for (const std::string& plan : o.plans) parse_plan(plan);
  r.plans = o.plans;
  if (!(o.atol >= 0) || !(o.rtol >= 0)) throw Error("--atol and --rtol must be 0 or more");
  r.tolerance = {o.atol, o.rtol};
  r.seconds = o.seconds;
  r.threads = o.threads;
  return r;
}

int run(const Options& o, bool tolerance_given) {
  if (o.how_to_dump) {
    std::fputs(how_to_dump().c_str(), stdout);
    return 0;
  }
  std::vector<Tensor> keep;
  ExplainRequest request = request_of(o, keep);
  request.tolerance_given = tolerance_given;
  const Explanation e = explain(request);
  if (!o.json.empty()) {
    nlohmann::json document = to_json(e);
    document["trees"] = trees_of(e, reduction_axes(request.contraction));
    const std::string text = document.dump(2) + "\n";
    if (o.json == "-")
      std::fputs(text.c_str(), stdout);
    else
      write_text(o.json, text);
  }
  if (!o.markdown.empty()) {
    if (o.markdown == "-")
      std::fputs(markdown_of(e).c_str(), stdout);
    else
      write_text(o.markdown, markdown_of(e));
  }
  if (o.summary)
    std::fputs(e.summary.c_str(), stdout);
  else if (o.json != "-" && o.markdown != "-")
    std::fputs(markdown_of(e).c_str(), stdout);
  ExitTally tally;
  tally.add(e.candidate.verdict);
  for (const SideReport& s : e.others) tally.add(s.verdict);
  return tally.exit_code();
}

void add(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("explain", "Two dumped tensors: why do they differ?");
  sub->add_option("--op", o->op, "operator: conv1d, conv2d, conv_transpose1d, gemm, linear, sum, ...");
  sub->add_option("--input", o->input,
                  "first operand: FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME, FILE:fp32:SHAPE");
  sub->add_option("--weight", o->weight, "second operand, in PyTorch's layout");
  sub->add_option("--bias", o->bias, "bias");
  sub->add_option("--candidate", o->candidates, "result to explain; may be given several times");
  sub->add_option("--reference", o->reference, "result to compare with; without it the exact one judges");
  sub->add_option("--reference-input", o->reference_input, "the other side's own input");
  sub->add_option("--reference-weight", o->reference_weight, "the other side's own weight");
  sub->add_option("--reference-bias", o->reference_bias, "the other side's own bias");
  sub->add_option("--repeat", o->repeats, "another dump of the candidate's call");
  sub->add_option("--candidate-dtype", o->candidate_dtype,
                  "bf16 or fp16: a float array holds 16-bit results");
  sub->add_option("--reference-dtype", o->reference_dtype, "the same for the reference");
  sub->add_option("--stride", o->stride, "one value, or one per spatial axis: 1,2");
  sub->add_option("--padding", o->padding, "likewise");
  sub->add_option("--output-padding", o->output_padding, "likewise");
  sub->add_option("--dilation", o->dilation, "likewise");
  sub->add_option("--groups", o->groups, "groups");
  sub->add_option("--target", o->target, "backward operators: spatial shape of the gradient wanted");
  sub->add_flag("--transpose-input", o->transpose_input, "gemm: the input is [K, M]");
  sub->add_flag("--transpose-weight", o->transpose_weight, "gemm: the weight is [N, K]");
  sub->add_option(
      "--batch", o->batch,
      "linear: rows of the call that the dumped ones came from; says what another batch may change");
  sub->add_option("--output-slice", o->slice, "part of the output that was dumped: FROM:TO per spatial axis");
  CLI::Option* atol = sub->add_option("--atol", o->atol, "absolute tolerance (default 1e-4)");
  CLI::Option* rtol = sub->add_option("--rtol", o->rtol, "relative tolerance (default 1e-4)");
  sub->add_option("--mode", o->mode, "what the candidate promised: fp32, tf32, strict, bf16, fp16");
  sub->add_option("--plan", o->plans, "declared plan, tried first");
  sub->add_option("--seconds", o->seconds, "time for the search of one side's plan (default 10)");
  sub->add_option("--threads", o->threads, "threads (default: all cores)");
  sub->add_option("--json", o->json, "write JSON here (- for standard output)")->check(written_file(true));
  sub->add_option("--markdown", o->markdown, "write Markdown here (- for standard output)")
      ->check(written_file(true));
  sub->add_flag("--summary", o->summary, "print the closing paragraph only");
  sub->add_flag("--how-to-dump", o->how_to_dump, "print lines of Python that dump tensors from torch");
  sub->callback([o, atol, rtol, &exit_code] { exit_code = run(*o, atol->count() + rtol->count() > 0); });
}

const RegisterCommand registered(35, add);

}  // namespace
}  // namespace ulpscope
