#include <algorithm>

#include "reference/replay/tile_replay.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kChunk = 256;  // a multiple of every fast block length
constexpr std::int64_t kKeptPlaces = 1 << 20;

}  // namespace

Engine engine_for(const Plan& plan) {
  const Arithmetic& a = plan.arithmetic;
  const auto joins_in = [&](DType format) {
    return std::all_of(plan.levels.begin(), plan.levels.end(),
                       [&](const Level& l) { return l.in.value_or(format) == format; });
  };
  if (a.accumulator == DType::f32 && a.product == DType::f32 && joins_in(DType::f32)) {
    if (a.step != Step::block) return Engine::narrow;
    const BlockStep& b = a.block;
    const bool plain = b.rounding == StepRounding::rz && b.keep == 23;
    // Products of longer significands would not be exact in fp32.
    const bool short_operands =
        info(plan.operands.a).precision <= 11 && info(plan.operands.b).precision <= 11;
    return plain && short_operands && fast_block(b.terms, b.frac) ? Engine::narrow : Engine::scalar;
  }
  if ((plan.operands.a == OperandFormat::fp64) != (plan.operands.b == OperandFormat::fp64))
    return Engine::scalar;
  const bool wide = a.accumulator == DType::f64 && joins_in(DType::f64) &&
                    (a.step == Step::fma || a.step == Step::mul_add) &&
                    (a.product == DType::f64 || a.product == DType::f32);
  return wide ? Engine::wide : Engine::scalar;
}

ChunkedProgram::ChunkedProgram(const Program& p, const Contraction& c) : program(p), length(kChunk) {
  const auto places = static_cast<std::int64_t>(p.places.size());
  first_op.push_back(0);
  std::int64_t chunk = 0;
  for (const Op& op : p.ops) {
    if (op.kind == OpKind::add || op.kind == OpKind::round) {
      ops.push_back(op);
      continue;
    }
    // Chains follow each other without gaps, so the chunk only ever moves on.
    Op piece = op;
    std::int64_t at = op.from;
    do {
      if (at == (chunk + 1) * kChunk && at < op.to) {
        first_op.push_back(ops.size());
        ++chunk;
      }
      const std::int64_t end = std::min(op.to, (chunk + 1) * kChunk);
      piece.from = at - chunk * kChunk;
      piece.to = end - chunk * kChunk;
      ops.push_back(piece);
      piece.kind = OpKind::extend;
      piece.takes_bias = false;
      at = end;
    } while (at < op.to);
  }
  first_op.push_back(ops.size());
  has_empty_places = std::any_of(p.places.begin(), p.places.end(), [](std::int64_t s) { return s < 0; });
  if (places <= kKeptPlaces) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < chunks(); ++i) {
      term_ids(i, ids);
      terms.emplace_back(c).assign(ids);
    }
  }
}

std::int64_t ChunkedProgram::places_in(std::int64_t chunk) const {
  return std::min(length, static_cast<std::int64_t>(program.places.size()) - chunk * length);
}

void ChunkedProgram::term_ids(std::int64_t chunk, std::vector<std::int64_t>& ids) const {
  ids.clear();
  for (std::int64_t i = 0; i < places_in(chunk); ++i) {
    const std::int64_t slot = program.places[static_cast<std::size_t>(chunk * length + i)];
    ids.push_back(slot < 0 ? 0 : slot / program.passes);
  }
}

TileShape tile_shape_for(const Program& program, Engine engine) {
  constexpr std::int64_t kBudget = 256 << 10;  // half of a common second-level cache
  const std::int64_t bytes = engine == Engine::wide ? 8 : 4;
  TileShape shape{256, 96};
  while (shape.lanes * shape.columns * bytes * program.registers > kBudget && shape.lanes > 32) {
    if (shape.columns > 48)
      shape.columns /= 2;
    else
      shape.lanes /= 2;
  }
  return shape;
}

}  // namespace ulpscope
