#include "harness/invariance_runs.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <set>

#include "harness/bound.hpp"
#include "harness/launch_shapes.hpp"
#include "reference/counted.hpp"
#include "reference/error.hpp"
#include "reference/layout.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

// A call derived from the case's, with what it needs kept alive.
struct Call {
  Problem problem;
  const Variant* variant = nullptr;
  Layout layout = Layout::channels_first;
  Tensor a, b;  // empty: the case's own
  Operands operands;
  Contraction contraction;
};

struct Done {
  const Call* call = nullptr;
  Tensor output;
  std::string shape;  // LaunchNotes::shape
};

// Bytes of one step along `axis`.
std::int64_t step_bytes(const TensorView& t, std::size_t axis) {
  std::int64_t step = size_of(t.dtype);
  for (std::size_t x = axis + 1; x < t.shape.size(); ++x) step *= t.shape[x];
  return step;
}

// The first `n` along `axis`.
Tensor first_of(const TensorView& t, std::size_t axis, std::int64_t n) {
  Shape shape = t.shape;
  shape[axis] = n;
  Tensor r = make_tensor(t.dtype, shape);
  const std::int64_t step = step_bytes(t, axis), from = t.shape[axis] * step, to = n * step;
  for (std::int64_t i = 0; from > 0 && i < static_cast<std::int64_t>(t.bytes()) / from; ++i)
    std::memcpy(r.as<std::byte>() + i * to, static_cast<const std::byte*>(t.data) + i * from,
                static_cast<std::size_t>(to));
  return r;
}

// A copy that holds at the end of `axis` what it holds at its beginning.
Tensor first_in_last_place(const TensorView& t, std::size_t axis) {
  Tensor r = first_of(t, axis, t.shape[axis]);
  const std::int64_t step = step_bytes(t, axis), run = t.shape[axis] * step;
  for (auto* at = r.as<std::byte>(); at < r.as<std::byte>() + t.bytes(); at += run)
    std::memcpy(at + run - step, at, static_cast<std::size_t>(step));
  return r;
}

// `extra` zeros behind every run along `axis`, which may be cut into groups with a run each.
Tensor padded(const TensorView& t, std::size_t axis, std::int64_t extra, std::int64_t groups) {
  Shape shape = t.shape;
  shape[axis] += extra * groups;
  Tensor r = make_tensor(t.dtype, shape);
  std::memset(r.data.get(), 0, r.view().bytes());
  const std::int64_t step = step_bytes(t, axis);
  const std::int64_t from = t.shape[axis] / groups * step, to = shape[axis] / groups * step;
  for (std::int64_t i = 0; from > 0 && i < static_cast<std::int64_t>(t.bytes()) / from; ++i)
    std::memcpy(r.as<std::byte>() + i * to, static_cast<const std::byte*>(t.data) + i * from,
                static_cast<std::size_t>(from));
  return r;
}

// Items that are computed each by itself, outermost in the output: images, entries of a batch, rows.
struct Items {
  std::int64_t count = 0;           // below 2: `why` there are no others
  std::optional<std::size_t> a, b;  // the axis they lie along; none: all share the operand
  std::string why;
};

Items items_along(const Shape& a, std::size_t axis, const std::string& why) {
  return {a[axis], axis, {}, a[axis] < 2 ? why : ""};
}

Items items_of(const Problem& p) {
  const std::string& op = p.params.op;
  if (op.ends_with("_backward_weight"))
    return {0, {}, {}, "every output is a sum over all images: the batch is part of the sum"};
  if (op.starts_with("conv")) return items_along(p.a, 0, "the batch is one image");
  if (op != "gemm" && op != "linear") return {0, {}, {}, "one output: there is no batch"};
  const bool gemm = op == "gemm";
  const std::size_t lead_a = p.a.size() - (gemm ? 2 : 1), lead_b = gemm ? p.b.size() - 2 : 0;
  for (std::size_t x = 0; x < std::max(lead_a, lead_b); ++x)
    if (const std::int64_t n = lead_a > 0 ? p.a[x] : p.b[x]; n > 1) {
      Items batch{n, {}, {}, ""};
      if (lead_a > 0) batch.a = x;
      if (lead_b > 0) batch.b = x;
      return batch;
    }
  const std::string why = "the batch is one row";
  return gemm ? items_along(p.a, p.params.transpose_a ? lead_a + 1 : lead_a, why) : Items{1, {}, {}, why};
}

// Where zeros can be appended to all sums of a problem at once.
struct Tail {
  std::size_t a = 0, b = 0;                 // the axis of each operand
  std::int64_t groups_a = 1, groups_b = 1;  // of the axis; each gets its own zeros
  bool flat = false;                        // the operands are one run of numbers
  std::vector<std::int64_t> amounts;
  const char* unit = "zero";  // "channel", "image"
  std::string of, why;        // " of zeros"; why there is no such place
};

Tail tail_of(const Problem& p) {
  const OperatorParams& q = p.params;
  Tail t;
  // The second passes the tiles that kernels cut sums into: a remainder that is left out then is none.
  t.amounts = {8, 64};
  if (q.op == "mean") {
    t.why = "a mean over more elements is divided by another number";
  } else if (q.op == "gemm") {
    t.a = p.a.size() - (q.transpose_a ? 2 : 1);
    t.b = p.b.size() - (q.transpose_b ? 1 : 2);
  } else if (q.op == "linear") {
    t.a = p.a.size() - 1;
    t.b = 1;
  } else if (q.op.ends_with("_backward_weight")) {
    t.amounts = {1};
    t.unit = "image";
    t.of = " of zeros";
  } else if (q.op.starts_with("conv")) {
    t.a = 1;
    t.groups_a = q.groups;
    if (q.op.starts_with("conv_transpose") || q.op.ends_with("_backward_input")) {
      t.groups_b = q.groups;
    } else {
      t.b = 1;  // the weight holds the channels of one group
    }
    // Whole planes: no more than needed, and no group of a few channels many times as large.
    t.amounts = {q.groups > 1 ? std::min<std::int64_t>(8, p.a[1] / q.groups) : 8};
    t.unit = "channel";
    t.of = q.groups > 1 ? " of zeros in every group" : " of zeros";
  } else {
    t.flat = true;
  }
  return t;
}

class Trial {
 public:
  Trial(const Case& test, const Inputs& inputs, const Variant& variant, Mode mode, Executor& executor,
        double seconds, int threads)
      : test_(test),
        items_(items_of(test.problem)),
        operands_(inputs.operands()),
        variant_(variant),
        mode_(mode),
        executor_(executor) {
    std::string plan = declared_plan(variant, test.problem, mode, test.out);
    options_.arithmetic = *parse_plan(plan.empty() ? usual_plan(mode, test.in, test.out) : plan);
    options_.search_seconds = seconds;
    options_.threads = threads;
  }

  std::vector<InvarianceFinding> operator()(const std::vector<Circumstance>& only) {
    const std::pair<Circumstance, void (Trial::*)()> all[] = {
        {Circumstance::repeat, &Trial::repeats},          {Circumstance::batch_size, &Trial::batch_sizes},
        {Circumstance::batch_position, &Trial::position}, {Circumstance::layout, &Trial::layout},
        {Circumstance::zero_padding, &Trial::zeros},      {Circumstance::launch_shape, &Trial::launches}};
    whole_ = run(call(test_.problem));
    for (const auto& [circumstance, attempt] : all)
      if (only.empty() || std::find(only.begin(), only.end(), circumstance) != only.end()) (this->*attempt)();
    return std::move(findings_);
  }

 private:
  struct Named {
    std::string label;
    Done done;
    std::vector<std::int64_t> at;
  };

  const std::string& op() const { return test_.problem.params.op; }
  Call& call(Problem problem) {
    calls_.emplace_back();
    Call& c = calls_.back();
    c.problem = std::move(problem);
    c.variant = &variant_;
    c.contraction = lower(c.problem);
    c.operands = operands_;
    c.operands.a.shape = c.problem.a;
    if (c.operands.b.data) c.operands.b.shape = c.problem.b;
    return c;
  }

  std::string refusal(const Problem& problem) const {
    return variant_.unsupported ? variant_.unsupported(problem, test_.in, test_.out, mode_) : "";
  }

  Done run(const Call& c, const Telling& telling = {}) {
    const Variant& variant = *c.variant;
    executor_.set_inputs(c.operands);
    LaunchArgs args;
    args.problem = &c.problem;
    args.contraction = &c.contraction;
    args.in_dtype = test_.in;
    args.out_dtype = test_.out;
    args.mode = mode_;
    args.threads = telling.threads > 0 ? telling.threads : options_.threads;
    args.shape = telling.shape;
    args.layout = c.layout;
    const Execution e = executor_.execute(variant, args);
    const std::int64_t n = c.contraction.outputs();
    executor_.start_copy(0, {e.output}, {0, 1, n, n});
    Done d{&c, make_tensor(test_.out, c.contraction.out_shape), e.notes.shape};
    std::memcpy(d.output.data.get(), executor_.finish_copy(0)[0], d.output.view().bytes());
    executor_.release(e.output);
    if (e.unwritten > 0)
      throw Error(variant.name + " left " + std::to_string(e.unwritten) + " outputs unwritten: run it first");
    return d;
  }

  void compare(Circumstance circumstance, const std::vector<Named>& runs, std::string remark = "") {
    std::vector<ObservedRun> observed;
    std::set<std::string> declared;
    for (const Named& r : runs) {
      const Call& c = *r.done.call;
      observed.push_back({r.label, &c.contraction, c.operands, r.done.output.view(), r.at});
      declared.insert(declared_plan(*c.variant, c.problem, mode_, test_.out));
    }
    InvarianceFinding f{circumstance, "", compare_runs(circumstance, observed, options_)};
    // Appended zeros lengthen the sum: the same words may then mean another tree.
    f.promised = variant_.deterministic && circumstance != Circumstance::zero_padding &&
                 declared.size() == 1 && !declared.begin()->empty();
    if (f.promised && !f.report.same_bits) f.report.sentence += " The declared plan promises the same bits.";
    f.remark = std::move(remark);
    findings_.push_back(std::move(f));
  }

  void repeats() {
    compare(Circumstance::repeat, {{"run 1", whole_, {}}, {"run 2", run(calls_.front()), {}}});
  }

  std::vector<std::int64_t> item(std::int64_t i) const {
    const std::int64_t per = whole_.call->contraction.outputs() / items_.count;
    std::vector<std::int64_t> at;
    for (std::int64_t o = 0; o < per; ++o) at.push_back(i * per + o);
    return at;
  }

  void skip(Circumstance circumstance, const std::string& reason) {
    InvarianceFinding f;
    f.circumstance = circumstance;
    f.skipped = reason;
    findings_.push_back(std::move(f));
  }

  void batch_sizes() {
    if (items_.count < 2) return skip(Circumstance::batch_size, items_.why);
    std::vector<Named> runs;
    std::set<std::int64_t> sizes{1, 2, items_.count / 2};
    std::string why;
    for (const std::int64_t n : sizes) {
      if (n >= items_.count) continue;
      Problem p = test_.problem;
      if (items_.a) p.a[*items_.a] = n;
      if (items_.b) p.b[*items_.b] = n;
      if (const std::string refused = refusal(p); !refused.empty()) {
        why = "the variant refuses smaller batches: " + refused;
        continue;
      }
      Call& c = call(p);
      // Columns of a transposed A lie apart; all else begins with its first items already.
      if (items_.a && operands_.a.shape[*items_.a] * step_bytes(operands_.a, *items_.a) <
                          static_cast<std::int64_t>(operands_.a.bytes())) {
        c.a = first_of(operands_.a, *items_.a, n);
        c.operands.a = c.a.view();
      }
      runs.push_back({"batch " + std::to_string(n), run(c), item(0)});
    }
    if (runs.empty()) return skip(Circumstance::batch_size, why);
    runs.push_back({"batch " + std::to_string(items_.count), whole_, item(0)});
    compare(Circumstance::batch_size, runs);
  }

  // The first item once more in the last one's place.
  void position() {
    if (items_.count < 2) return skip(Circumstance::batch_position, items_.why);
    Call& c = call(test_.problem);
    if (items_.a) {
      c.a = first_in_last_place(operands_.a, *items_.a);
      c.operands.a = c.a.view();
    }
    if (items_.b) {
      c.b = first_in_last_place(operands_.b, *items_.b);
      c.operands.b = c.b.view();
    }
    const Done d = run(c);
    compare(Circumstance::batch_position,
            {{"first place", d, item(0)}, {"last place", d, item(items_.count - 1)}});
  }

  void zeros() {
    const Tail tail = tail_of(test_.problem);
    if (!tail.why.empty()) return skip(Circumstance::zero_padding, tail.why);
    TensorView a = operands_.a, b = operands_.b;
    if (tail.flat) {
      a.shape = {elements(a.shape)};
      if (b.data) b.shape = a.shape;
    }
    std::vector<Named> runs{{"as it is", whole_, {}}};
    std::string remark;
    for (const std::int64_t amount : tail.amounts) {
      const std::string label = counted(amount, tail.unit) + tail.of + " appended";
      Problem p = test_.problem;
      p.a = a.shape;
      p.b = b.shape;
      p.a[tail.a] += amount * tail.groups_a;
      if (b.data) p.b[tail.b] += amount * tail.groups_b;
      if (const std::string why = refusal(p); !why.empty()) {
        remark += (remark.empty() ? "" : "; ") + label + ": " + why;
        continue;
      }
      Call& c = call(p);
      c.a = padded(a, tail.a, amount, tail.groups_a);
      c.operands.a = c.a.view();
      if (b.data) {
        c.b = padded(b, tail.b, amount, tail.groups_b);
        c.operands.b = c.b.view();
      }
      runs.push_back({label, run(c), {}});
    }
    if (runs.size() < 2) return skip(Circumstance::zero_padding, remark);
    compare(Circumstance::zero_padding, runs, remark);
  }

  void layout() {
    if (op().starts_with("conv")) return channel_order();
    if (op() != "gemm" && op() != "linear")
      return skip(Circumstance::layout, "operands are runs of numbers: there is no other layout");
    transpositions();
  }

  // NHWC: channels innermost in both operands and the output.
  void channel_order() {
    if (!variant_.channels_last)
      return skip(Circumstance::layout, "the variant takes channels before the spatial axes only (NCHW)");
    if (const std::string why = variant_.channels_last(test_.problem, test_.in, test_.out, mode_);
        !why.empty())
      return skip(Circumstance::layout, why);
    const Shape out = whole_.call->contraction.out_shape;
    auto moves = [](const Shape& s) { return s[1] > 1 && elements(s) > s[0] * s[1]; };
    if (!moves(test_.problem.a) && !moves(test_.problem.b) && !moves(out))
      return skip(Circumstance::layout, "one channel, or one place, everywhere: NHWC is the same memory");
    Call& c = call(test_.problem);
    c.layout = Layout::channels_last;
    c.contraction = channels_last(test_.problem);
    c.a = channels_last(operands_.a);
    c.b = channels_last(operands_.b);
    c.operands.a = c.a.view();
    c.operands.b = c.b.view();
    Named last{"NHWC", run(c), {}};
    for (std::int64_t o = 0; o < c.contraction.outputs(); ++o) last.at.push_back(channels_last_place(out, o));
    compare(Circumstance::layout, {{"NCHW", whole_, {}}, last});
  }

  // Either operand, and both, stored the other way round. A linear layer's weight has one layout; with
  // another it is a gemm, by the variant of the same name.
  void transpositions() {
    Problem p = test_.problem;
    const Variant* variant = &variant_;
    if (op() == "linear") {
      variant = nullptr;
      for (const Variant* v : variants_of("gemm"))
        if (v->name == variant_.name && v->where == variant_.where) variant = v;
      if (!variant)
        return skip(Circumstance::layout, "no variant of this name is a gemm, which takes other layouts");
      p.params.op = "gemm";
      p.params.transpose_b = true;
      p.a = {elements(p.a) / p.b[1], p.b[1]};
    }
    std::vector<Named> runs{{"as given", whole_, {}}};
    std::string why;
    for (const int which : {1, 2, 3}) {
      Problem q = p;
      const bool first = which != 2, second = which != 1;
      if (first) {
        q.params.transpose_a = !q.params.transpose_a;
        std::swap(q.a.end()[-1], q.a.end()[-2]);
      }
      if (second) {
        q.params.transpose_b = !q.params.transpose_b;
        std::swap(q.b.end()[-1], q.b.end()[-2]);
      }
      if (variant->unsupported) why = variant->unsupported(q, test_.in, test_.out, mode_);
      if (!why.empty()) continue;
      Call& c = call(q);
      c.variant = variant;
      if (first) c.a = transposed({operands_.a.data, test_.in, p.a});
      if (second) c.b = transposed({operands_.b.data, test_.in, p.b});
      if (first) c.operands.a = c.a.view();
      if (second) c.operands.b = c.b.view();
      runs.push_back({which == 1   ? "first operand transposed"
                      : which == 2 ? "second operand transposed"
                                   : "both transposed",
                      run(c),
                      {}});
    }
    if (runs.size() < 2) return skip(Circumstance::layout, why);
    compare(Circumstance::layout, runs);
  }

  // A launch that took no notice is no other launch, and is left out.
  void launches() {
    std::vector<Named> runs{{"its own shape", whole_, {}}};
    std::set<std::string> seen{whole_.shape};
    std::string remark;
    for (const Telling& telling : launch_shapes(variant_)) {
      if (whole_.shape.empty()) break;
      try {
        Done d = run(calls_.front(), telling);
        if (seen.insert(d.shape).second) runs.push_back({telling.label, std::move(d), {}});
      } catch (const Error& e) {
        if (!variant_.vendor)
          throw;  // a library may have no kernel for less; a kernel of ours takes any shape
        remark += (remark.empty() ? "" : "; ") + telling.label + ": " + e.what();
      }
    }
    if (runs.size() > 1) return compare(Circumstance::launch_shape, runs, remark);
    skip(Circumstance::launch_shape, whole_.shape.empty() ? "the variant has one launch shape for a case"
                                     : remark.empty()     ? "every shape asked for is the same at this size"
                                                          : remark);
  }

  const Case& test_;
  const Items items_;
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
                                                 double search_seconds, int threads,
                                                 const std::vector<Circumstance>& only) {
  return Trial(test, inputs, variant, mode, executor, search_seconds, threads)(only);
}

}  // namespace ulpscope
