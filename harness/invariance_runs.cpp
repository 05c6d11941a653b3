#include "harness/invariance_runs.hpp"

#include <cstring>
#include <deque>
#include <set>

#include "harness/bound.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kZeros = 8;  // appended to the reduction

// A call derived from the case's, with what it needs kept alive.
struct Call {
  Problem problem;
  Tensor a, b;  // empty: the case's own
  Operands operands;
  Contraction contraction;
};

struct Done {
  const Call* call = nullptr;
  Tensor output;
};

Tensor copy_of(const TensorView& t) {
  Tensor r = make_tensor(t.dtype, t.shape);
  std::memcpy(r.data.get(), t.data, t.bytes());
  return r;
}

// `extra` zeros behind every run along `axis`.
Tensor padded(const TensorView& t, std::size_t axis, std::int64_t extra) {
  Shape shape = t.shape;
  shape[axis] += extra;
  Tensor r = make_tensor(t.dtype, shape);
  std::memset(r.data.get(), 0, r.view().bytes());
  std::int64_t inner = size_of(t.dtype);
  for (std::size_t x = axis + 1; x < t.shape.size(); ++x) inner *= t.shape[x];
  const std::int64_t from = t.shape[axis] * inner, to = shape[axis] * inner;
  for (std::int64_t i = 0; from > 0 && i < static_cast<std::int64_t>(t.bytes()) / from; ++i)
    std::memcpy(r.as<std::byte>() + i * to, static_cast<const std::byte*>(t.data) + i * from,
                static_cast<std::size_t>(from));
  return r;
}

class Trial {
 public:
  Trial(const Case& test, const Inputs& inputs, const Variant& variant, Mode mode, Executor& executor,
        double seconds, int threads)
      : test_(test), operands_(inputs.operands()), variant_(variant), mode_(mode), executor_(executor) {
    std::string plan = declared_plan(variant, test.problem, mode, test.out);
    options_.arithmetic = *parse_plan(plan.empty() ? usual_plan(mode, test.in, test.out) : plan);
    options_.search_seconds = seconds;
    options_.threads = threads;
  }

  std::vector<InvarianceFinding> operator()() {
    whole_ = run(call(test_.problem));
    findings_.push_back({Circumstance::repeat, "", compare(Circumstance::repeat, {{"run 1", whole_}})});
    batch_sizes();
    position();
    zeros();
    return std::move(findings_);
  }

 private:
  struct Named {
    std::string label;
    Done done;
    std::vector<std::int64_t> at;
  };

  const std::string& op() const { return test_.problem.params.op; }
  bool convolution() const { return op().starts_with("conv") && !op().ends_with("_backward_weight"); }

  // Items along the first axis that are computed each by itself: images, rows.
  std::int64_t items() const {
    const Shape& a = test_.problem.a;
    const bool rows = op() == "linear" ||
                      (op() == "gemm" && test_.problem.b.size() == 2 && !test_.problem.params.transpose_a);
    return a.size() > 1 && (convolution() || rows) ? a[0] : 0;
  }

  Call& call(Problem problem) {
    calls_.emplace_back();
    Call& c = calls_.back();
    c.problem = std::move(problem);
    c.contraction = lower(c.problem);
    c.operands = operands_;
    c.operands.a.shape = c.problem.a;
    if (c.operands.b.data) c.operands.b.shape = c.problem.b;
    return c;
  }

  std::string refusal(const Problem& problem) const {
    return variant_.unsupported ? variant_.unsupported(problem, test_.in, test_.out, mode_) : "";
  }

  Done run(const Call& c) {
    executor_.set_inputs(c.operands);
    LaunchArgs args;
    args.problem = &c.problem;
    args.contraction = &c.contraction;
    args.in_dtype = test_.in;
    args.out_dtype = test_.out;
    args.mode = mode_;
    args.threads = options_.threads;
    const Execution e = executor_.execute(variant_, args);
    const std::int64_t n = c.contraction.outputs();
    executor_.start_copy(0, {e.output}, {0, 1, n, n});
    Done d{&c, make_tensor(test_.out, c.contraction.out_shape)};
    std::memcpy(d.output.data.get(), executor_.finish_copy(0)[0], d.output.view().bytes());
    executor_.release(e.output);
    if (e.unwritten > 0)
      throw Error(variant_.name + " left " + std::to_string(e.unwritten) +
                  " outputs unwritten: run it first");
    return d;
  }

  // Against another run of the case itself, so that repeats need no path of their own.
  InvarianceReport compare(Circumstance circumstance, std::vector<Named> runs) {
    if (circumstance == Circumstance::repeat) runs.push_back({"run 2", run(calls_.front()), {}});
    std::vector<ObservedRun> observed;
    for (const Named& r : runs)
      observed.push_back(
          {r.label, &r.done.call->contraction, r.done.call->operands, r.done.output.view(), r.at});
    return compare_runs(circumstance, observed, options_);
  }

  std::vector<std::int64_t> item(std::int64_t i) const {
    const std::int64_t per = whole_.call->contraction.outputs() / items();
    std::vector<std::int64_t> at;
    for (std::int64_t o = 0; o < per; ++o) at.push_back(i * per + o);
    return at;
  }

  void skip(Circumstance circumstance, const std::string& reason) {
    findings_.push_back({circumstance, reason, {}});
  }

  void batch_sizes() {
    if (items() < 2) return skip(Circumstance::batch_size, "the case has no batch of independent items");
    std::vector<Named> runs;
    std::set<std::int64_t> sizes{1, 2, items() / 2};
    for (const std::int64_t n : sizes) {
      if (n >= items()) continue;
      Problem p = test_.problem;
      p.a[0] = n;
      if (const std::string why = refusal(p); !why.empty()) continue;
      runs.push_back({"batch " + std::to_string(n), run(call(p)), item(0)});
    }
    if (runs.empty()) return skip(Circumstance::batch_size, "the variant refuses smaller batches");
    runs.push_back({"batch " + std::to_string(items()), whole_, item(0)});
    findings_.push_back({Circumstance::batch_size, "", compare(Circumstance::batch_size, std::move(runs))});
  }

  // The first item once more in the last one's place.
  void position() {
    if (items() < 2) return skip(Circumstance::batch_position, "the case has no batch of independent items");
    Call& c = call(test_.problem);
    c.a = copy_of(operands_.a);
    const std::size_t bytes = c.a.view().bytes() / static_cast<std::size_t>(items());
    std::memcpy(c.a.as<std::byte>() + bytes * static_cast<std::size_t>(items() - 1), c.a.data.get(), bytes);
    c.operands.a = c.a.view();
    const Done d = run(c);
    findings_.push_back({Circumstance::batch_position, "",
                         compare(Circumstance::batch_position,
                                 {{"first place", d, item(0)}, {"last place", d, item(items() - 1)}})});
  }

  void zeros() {
    const OperatorParams& q = test_.problem.params;
    const bool matrix = (op() == "gemm" && !q.transpose_a && !q.transpose_b && test_.problem.a.size() == 2 &&
                         test_.problem.b.size() == 2) ||
                        op() == "linear";
    const bool plain = convolution() && q.groups == 1 && op().find("backward") == std::string::npos;
    if (!matrix && !plain)
      return skip(Circumstance::zero_padding, "no reduction axis that zeros can be appended to");
    const std::size_t of_a = matrix ? test_.problem.a.size() - 1 : 1;
    const std::size_t of_b = op() == "gemm" || op().starts_with("conv_transpose") ? 0 : 1;
    Problem p = test_.problem;
    p.a[of_a] += kZeros;
    p.b[of_b] += kZeros;
    if (const std::string why = refusal(p); !why.empty()) return skip(Circumstance::zero_padding, why);
    Call& c = call(p);
    c.a = padded(operands_.a, of_a, kZeros);
    c.b = padded(operands_.b, of_b, kZeros);
    c.operands.a = c.a.view();
    c.operands.b = c.b.view();
    findings_.push_back(
        {Circumstance::zero_padding, "",
         compare(Circumstance::zero_padding,
                 {{"as it is", whole_, {}}, {std::to_string(kZeros) + " zeros appended", run(c), {}}})});
  }

  const Case& test_;
  const Operands operands_;
  const Variant& variant_;
  const Mode mode_;
  Executor& executor_;
  InvarianceOptions options_;
  std::deque<Call> calls_;
  Done whole_;
  std::vector<InvarianceFinding> findings_;
};

}  // namespace

std::vector<InvarianceFinding> try_circumstances(const Case& test, const Inputs& inputs,
                                                 const Variant& variant, Mode mode, Executor& executor,
                                                 double search_seconds, int threads) {
  return Trial(test, inputs, variant, mode, executor, search_seconds, threads)();
}

}  // namespace ulpscope
