#include "reference/search/candidate.hpp"

namespace ulpscope {

std::uint64_t hash_of(const Candidate& c) {
  std::uint64_t h = 0xcbf29ce484222325u;
  auto mix = [&](std::uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 29; };
  const Plan& p = c.plan;
  mix(static_cast<std::uint64_t>(p.operands.a) << 8 | static_cast<std::uint64_t>(p.operands.b));
  mix(static_cast<std::uint64_t>(p.arithmetic.step) << 32 |
      static_cast<std::uint64_t>(p.arithmetic.accumulator) << 40 |
      static_cast<std::uint64_t>(p.arithmetic.product) << 48 |
      static_cast<std::uint64_t>(p.arithmetic.block.terms) << 8 |
      static_cast<std::uint64_t>(p.arithmetic.block.frac));
  for (const std::int64_t place : c.program.places) mix(static_cast<std::uint64_t>(place + 1));
  for (const Op& op : c.program.ops) {
    mix(static_cast<std::uint64_t>(op.kind) << 32 | static_cast<std::uint64_t>(op.format) << 40 |
        static_cast<std::uint64_t>(op.takes_bias));
    mix(static_cast<std::uint64_t>(op.dst) << 32 | static_cast<std::uint64_t>(op.src));
    mix(static_cast<std::uint64_t>(op.from) << 32 ^ static_cast<std::uint64_t>(op.to));
  }
  return h;
}

}  // namespace ulpscope
