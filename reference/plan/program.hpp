#pragma once
// A plan bound to a contraction: a straight-line program over a few accumulator registers. It depends on the
// reduction axes only, not on the output, so one program serves every output, many at a time.
#include <cstdint>
#include <span>
#include <vector>

#include "reference/plan/plan_types.hpp"
#include "reference/plan/slots.hpp"

namespace ulpscope {

enum class OpKind : std::uint8_t {
  chain,   // reg[dst] = 0 (or the bias), then the places [from, to), one after another
  extend,  // the same without clearing reg[dst]
  add,     // reg[dst] = reg[dst] + reg[src], rounded to `format`
  round    // reg[dst] rounded to `format`
};

struct Op {
  OpKind kind = OpKind::chain;
  DType format = DType::f32;
  bool unordered = false;   // add: the parts of this level come in any order
  bool takes_bias = false;  // the chain that starts from the bias, where the plan says `bias first`
  int dst = 0, src = 0;
  std::int64_t from = 0, to = 0;
  bool operator==(const Op&) const = default;
};

/// The result ends in register 0. For block arithmetic [from, to) is a multiple of the step's length, filled
/// up with empty places (-1); otherwise no place is empty.
struct Program {
  std::vector<std::int64_t> places;  // in the order of use: canonical term * passes + pass, or -1
  std::vector<Op> ops;
  int registers = 1;
  int passes = 1;
  std::int64_t terms = 0;
  /// Two plans of equal arithmetic whose programs are equal do the same thing.
  bool operator==(const Program&) const = default;
};

Program compile(const Plan& plan, const std::vector<NamedExtent>& axes);
/// With the order already laid out (many plans share one). `tile` by canonical term, where the plan has
/// tiles: without it all terms lie in one tile, as those of most outputs do.
Program compile(const Plan& plan, const Slots& slots, std::span<const int> tile = {});

/// True if every chain has one product at most and none is added to a sum that is there: whether the product
/// is fused with an addition or rounded by itself (to the accumulator's format) then makes no difference.
bool products_stand_alone(const Program& program);

}  // namespace ulpscope
