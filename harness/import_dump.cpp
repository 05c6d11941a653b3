#include "harness/import_dump.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "harness/inputs.hpp"
#include "harness/io/read_tensor.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

Shape squeezed(const Shape& s) {
  Shape r;
  for (const std::int64_t n : s)
    if (n != 1) r.push_back(n);
  return r;
}

/// An operand of exactly the case's format and shape.
Tensor operand(const std::string& spec, const char* option, const Case& test, const Shape& shape) {
  if (spec.empty()) throw Error(std::string(option) + " is missing: the case has that operand");
  Tensor t = read_tensor(spec, test.in);
  if (t.shape != shape)
    throw Error(std::string(option) + ": " + spec + " is " + to_string(t.shape) + ", the case says " +
                to_string(shape));
  return t;
}

struct Range {
  std::int64_t from, to;
};

/// "0:6,0:512": one FROM:TO for each of the last `rank` axes.
std::vector<Range> parse_slice(const std::string& text, const Shape& out, int rank) {
  std::vector<Range> ranges;
  for (const std::int64_t n : out) ranges.push_back({0, n});
  if (text.empty()) return ranges;
  const std::string wrong = "--output-slice '" + text + "' must give FROM:TO within the output " +
                            to_string(out) + " for each of its " + std::to_string(rank) + " spatial axes";
  std::size_t at = 0, axis = out.size() - static_cast<std::size_t>(rank);
  auto number = [&] {
    std::int64_t n = 0;
    const std::size_t first = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - first < 18; ++at)
      n = 10 * n + (text[at] - '0');
    if (at == first) throw Error(wrong);
    return n;
  };
  for (; axis < out.size(); ++axis) {
    ranges[axis].from = number();
    if (at == text.size() || text[at++] != ':') throw Error(wrong);
    ranges[axis].to = number();
    if (ranges[axis].from >= ranges[axis].to || ranges[axis].to > out[axis]) throw Error(wrong);
    if (axis + 1 < out.size() && (at == text.size() || text[at++] != ',')) throw Error(wrong);
  }
  if (at != text.size()) throw Error(wrong);
  return ranges;
}

/// The dumped part cut into stretches that lie together in the whole output.
std::vector<Window> windows_of(const Tensor& part, const Shape& out, const std::vector<Range>& ranges) {
  std::size_t last = out.size();  // axes from here on are whole: they lie together
  std::int64_t together = 1;
  while (last > 0 && ranges[last - 1].from == 0 && ranges[last - 1].to == out[last - 1])
    together *= out[--last];
  std::int64_t stretch = together;
  if (last > 0) {
    --last;
    stretch *= ranges[last].to - ranges[last].from;
  }
  std::vector<Window> windows;
  const auto bytes = static_cast<std::size_t>(stretch * size_of(part.dtype));
  for (std::int64_t i = 0; i < part.size() / stretch; ++i) {
    std::int64_t begin = last < out.size() ? ranges[last].from * together : 0;
    std::int64_t stride = last < out.size() ? out[last] * together : 1, rest = i;
    for (std::size_t axis = last; axis-- > 0; stride *= out[axis]) {
      const std::int64_t extent = ranges[axis].to - ranges[axis].from;
      begin += (ranges[axis].from + rest % extent) * stride;
      rest /= extent;
    }
    Tensor bits = make_tensor(part.dtype, {stretch});
    std::memcpy(bits.data.get(),
                static_cast<const char*>(part.data.get()) + static_cast<std::size_t>(i) * bytes, bytes);
    windows.push_back({begin, bits});
  }
  return windows;
}

}  // namespace

Capture import_dump(const DumpedCall& call, int threads) {
  Capture c;
  c.test = parse_case(call.case_text);
  check_case(c.test);
  if (!call.name.empty()) c.test.name = call.name;
  if (call.variant.empty()) throw Error("--variant must not be empty");
  c.variant = call.variant;
  c.mode = call.mode;
  c.executed = "recorded";
  c.environment = nlohmann::json::object();
  if (!call.device.empty()) c.environment["device"] = {{"available", true}, {"name", call.device}};
  c.notes = {call.engine, call.notes, 0};
  c.declared_nondeterministic =
      std::find(call.notes.begin(), call.notes.end(), "NONDETERMINISTIC") != call.notes.end();
  if (!call.plan.empty()) c.declared_plan = to_string(*parse_plan(call.plan));

  const Problem& p = c.test.problem;
  c.a = operand(call.a, "--input", c.test, p.a);
  if (!p.b.empty()) c.b = operand(call.b, "--weight", c.test, p.b);
  if (p.params.bias) c.bias = operand(call.bias, "--bias", c.test, bias_shape(p));
  c.input_hash = inputs_from(c.a, c.b, c.bias, threads).hash;

  const Shape out = output_shape(p);
  const std::vector<Range> ranges = parse_slice(call.slice, out, spatial_rank(p.params.op));
  Shape dumped;
  for (const Range& r : ranges) dumped.push_back(r.to - r.from);
  auto read_output = [&](const std::string& spec) {
    Tensor t = read_tensor(spec, c.test.out);
    if (squeezed(t.shape) != squeezed(dumped))
      throw Error(spec + " is " + to_string(t.shape) + ", but the output is " + to_string(dumped) +
                  ": check the case, or name the dumped part with --output-slice");
    return t;
  };
  if (call.output.empty()) throw Error("--output is missing: the dumped result");
  const Tensor y = read_output(call.output);
  c.windows = windows_of(y, out, ranges);
  if (y.size() == elements(out)) c.output_hash = hash_bytes(y.data.get(), y.view().bytes(), threads);
  if (call.repeat.empty()) return c;
  const Tensor again = read_output(call.repeat);
  std::int64_t in_dump = 0;
  for (const Window& w : c.windows)
    for (std::int64_t i = 0; i < w.bits.size(); ++i, ++in_dump)
      if (y.view().bits_at(in_dump) != again.view().bits_at(in_dump) && c.runs_differing++ == 0)
        c.first_differing = w.begin + i;
  c.runs_identical = c.runs_differing == 0;
  return c;
}

}  // namespace ulpscope
