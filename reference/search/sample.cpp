#include "reference/search/sample.hpp"

#include <cmath>

#include "reference/arithmetic/scalar.hpp"
#include "reference/replay/scalar.hpp"
#include "reference/replay/scalar_chain.hpp"
#include "reference/terms.hpp"

namespace ulpscope {
namespace {

float fma_chain(const Program& program, const Op& op, const SampledOutput& o, float acc) {
  for (std::int64_t i = op.from; i < op.to; ++i) {
    const auto slot = static_cast<std::size_t>(program.places[static_cast<std::size_t>(i)]);
    if (o.has[slot]) acc = std::fma(o.a[slot], o.b[slot], acc);
  }
  return acc;
}

double chain(const Plan& plan, const Program& program, const Op& op, const SampledOutput& o, double acc) {
  const Arithmetic& ar = plan.arithmetic;
  if (ar.step == Step::fma &&
      ar.accumulator == DType::f32)  // most candidates: without the detour through double
    return static_cast<double>(fma_chain(program, op, o, static_cast<float>(acc)));
  return scalar_chain(plan, program, op, o.a.data(), o.b.data(), o.has.data(), acc);
}

}  // namespace

SampledOutput sample_output(const Contraction& c, const Operands& operands, OperandFormat a, OperandFormat b,
                            std::int64_t output, std::uint32_t seen) {
  const auto terms = static_cast<std::size_t>(c.terms());
  SampledOutput o{std::vector<float>(terms), std::vector<float>(terms), std::vector<std::uint8_t>(terms)};
  for_each_term(c, output, [&](std::int64_t ia, std::int64_t ib, std::int64_t id) {
    const auto slot = static_cast<std::size_t>(id);
    o.a[slot] = shorten(a, static_cast<float>(operands.a.at(ia)));
    o.b[slot] = c.b_is_ones ? 1.0f : shorten(b, static_cast<float>(operands.b.at(ib)));
    o.has[slot] = 1;
  });
  if (c.has_bias) o.bias = operands.bias.at(bias_index(c, output));
  o.seen = seen;
  return o;
}

std::uint32_t run(const Plan& plan, const Program& program, const Contraction& c, const SampledOutput& output,
                  std::vector<double>& registers) {
  registers.assign(static_cast<std::size_t>(program.registers), 0.0);
  for (const Op& op : program.ops) {
    double& dst = registers[static_cast<std::size_t>(op.dst)];
    switch (op.kind) {
      case OpKind::chain:
        dst = chain(plan, program, op, output,
                    op.takes_bias && c.has_bias ? round_in(plan.arithmetic.accumulator, output.bias) : 0);
        break;
      case OpKind::extend:
        dst = chain(plan, program, op, output, dst);
        break;
      case OpKind::add: {
        const double src = registers[static_cast<std::size_t>(op.src)];
        if (op.format == DType::f32)  // the common case, without the detour through round_in
          dst = static_cast<double>(static_cast<float>(dst) + static_cast<float>(src));
        else
          dst = add_in(op.format, round_in(op.format, dst), round_in(op.format, src));
        break;
      }
      case OpKind::round:
        dst = round_in(op.format, dst);
        break;
    }
  }
  return finish(plan, c, registers[0], output.bias);
}

}  // namespace ulpscope
