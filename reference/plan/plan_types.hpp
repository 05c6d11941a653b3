#pragma once
// A plan taken apart. The text (README.md here) and this struct say the same; parse_plan and to_string go
// between them. Nothing here knows a contraction: compile (program.hpp) binds a plan to one.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/arithmetic/block_step.hpp"
#include "reference/arithmetic/operand.hpp"
#include "reference/formats.hpp"

namespace ulpscope {

/// One product of a multi-pass scheme: part `a` of A times part `b` of B. Part 0 is the rounded operand, part
/// i+1 what the parts before it left over, rounded.
struct Pass {
  int a = 0, b = 0;
  bool operator==(const Pass&) const = default;
};

struct OperandRule {
  OperandFormat a = OperandFormat::fp32, b = OperandFormat::fp32;
  std::vector<Pass> passes;  // empty: one product, of part 0
  int pass_count() const { return passes.empty() ? 1 : static_cast<int>(passes.size()); }
  int parts() const;  // 1, 2 or 3
  bool operator==(const OperandRule&) const = default;
};

enum class Step : std::uint8_t { fma, mul_add, kahan, kahan_fma, block };

struct Arithmetic {
  Step step = Step::fma;
  DType product = DType::f32;  // mul_add: the product's format
  DType accumulator = DType::f32;
  BlockStep block;  // step == block; its accumulator is the one above
  bool operator==(const Arithmetic&) const = default;
};

struct OrderAxis {
  std::string name;
  std::int64_t chunk = 0;  // 0: the rest of the axis
  bool residue_first = false;
  bool descending = false;
  bool operator==(const OrderAxis&) const = default;
};

/// A node of an arbitrary tree: a leaf (canonical term number) or children by index; node 0 is the root.
struct ExplicitNode {
  std::int64_t leaf = -1;
  std::vector<int> children;
  bool operator==(const ExplicitNode&) const = default;
};

enum class OrderKind : std::uint8_t { canonical, nest, shuffle, tree };

struct Order {
  OrderKind kind = OrderKind::canonical;
  std::vector<OrderAxis> axes;  // nest
  bool reversed = false;        // not for trees
  std::uint64_t seed = 0;       // shuffle
  std::vector<ExplicitNode> tree;
  bool operator==(const Order&) const = default;
};

/// `tiles`: by where A's element lies in its image, so other outputs have other parts (pixel_tiles.hpp).
enum class Divide : std::uint8_t { split, chunks, lanes, tiles };
/// `unordered`: whichever partial sum comes first (atomics). Such a plan has bounds, but no predicted bits.
enum class Join : std::uint8_t { seq, reverse, tree, butterfly, recursive, unordered };

/// One level of partial sums.
struct Level {
  Divide divide = Divide::split;
  std::int64_t count = 1;    // split: slices; chunks: places per chunk; lanes: lanes; tiles: pixels per tile
  std::int64_t unit = 1;     // split: slice length is a multiple of it; lanes: run length (`every`)
  std::int64_t restart = 0;  // lanes: numbering starts anew every so many places; 0: never
  bool balanced = false;     // split: units dealt out evenly
  bool outermost = false;    // split ... of AXIS: the unit is one step of the order's outermost axis
  std::string axis;          // its name, checked when the plan is bound
  Join join = Join::seq;
  std::optional<DType> in;    // format of the joining additions; else the accumulator's
  std::optional<DType> as;    // each partial is rounded to this first
  std::optional<DType> kept;  // seq, reverse: so is the running sum, after every partial (it lies in memory)
  bool operator==(const Level&) const = default;
};

enum class BiasPlace : std::uint8_t { last, first, after };
enum class MeanRule : std::uint8_t { divide, reciprocal };

/// Block steps of one window of `steps` steps: runs of `run` places go to the steps in turn.
struct Interleave {
  int steps = 1;
  std::int64_t run = 1;
  bool operator==(const Interleave&) const = default;
};

struct Plan {
  OperandRule operands;
  Arithmetic arithmetic;
  Order order;
  std::vector<Level> levels;  // outermost first
  std::int64_t residue = 0;   // > 0, block steps: a chain begins with its (length mod residue) first places
  Interleave interleave;
  std::optional<double> alpha, beta;
  BiasPlace bias = BiasPlace::last;
  MeanRule mean = MeanRule::divide;
  DType out = DType::f32;
  bool operator==(const Plan&) const = default;
};

/// True if the order of some additions is left open.
bool is_unordered(const Plan& plan);
/// True if the parts differ from output to output.
bool has_tiles(const Plan& plan);

const char* to_string(Step step);
const char* to_string(Join join);

}  // namespace ulpscope
