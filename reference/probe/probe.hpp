#pragma once
// Reveals the arithmetic and the order of anything that can be called: chosen inputs go in, bits come out,
// and the plan follows. How the implementation is run (host, CUDA, a library) is the caller's business.
//
// Every output element is a place for a probe: a grid of outputs is chosen whose operands do not overlap, row
// patterns go into A, column patterns into B, and one launch answers rows x columns questions. The order is
// read from masks (Xie et al., FPRev, arXiv 2411.00442): with M at term i, -M at term j and ones elsewhere
// the result counts the terms that are added outside the smallest subtree holding both i and j.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/arithmetic/operand.hpp"
#include "reference/contraction.hpp"
#include "reference/exact.hpp"
#include "reference/plan.hpp"
#include "reference/tree/tree.hpp"

namespace ulpscope {

/// An implementation under study. `run` computes every output of `contraction` (bits right-aligned, of `out`)
/// from dense host operands of dtype `in`; a bias, where there is one, is zero while probing.
struct ProbeTarget {
  Contraction contraction;
  DType in = DType::f32, out = DType::f32;
  std::function<void(const Operands& operands, std::uint32_t* bits)> run;
};

struct ProbeOptions {
  std::int64_t max_launches = 16;
  std::vector<std::string> hints;  // plans to consider first: a declared one, one found by search
  std::int64_t max_rows = 1024, max_columns = 256;  // of the grid
  int random_launches = 2;                          // to falsify the plan by replay
  int threads = 0;
  std::uint64_t seed = 1;
};

/// What the implementation does to numbers. "Unknown" is a value: some things cannot be seen in some sums.
enum class Seen : std::uint8_t { no, yes, unknown };

struct ProbedArithmetic {
  std::vector<OperandFormat> a, b;    // shortenings that explain every answer, the least shortening first
  bool block = false;                 // products added in fused steps
  int terms = 1, frac = 0, keep = 0;  // L, F and kept bits of a step
  DType accumulator = DType::f32;     // of a chain
  Seen fma = Seen::unknown;           // product and sum rounded at once
  Seen truncates = Seen::unknown;     // sums toward zero; no: to nearest even
  Seen compensated = Seen::unknown;
  Seen subnormal_results = Seen::unknown, subnormal_operands = Seen::unknown;  // kept, not flushed
};

struct ProbeResult {
  ProbedArithmetic arithmetic;
  std::string plan;        // "" if none was found
  std::string tree;        // the revealed tree as text, where it was revealed without a plan's help
  bool confirmed = false;  // the plan gave every bit of the random launches, and every mask agreed
  std::int64_t launches = 0;
  std::int64_t masks = 0, masks_agreeing = 0;      // (i, j) pairs measured
  std::int64_t terms = 0, terms_covered = 0;       // terms that took part in a pair
  std::int64_t outputs = 0, outputs_agreeing = 0;  // of the random launches
  std::int64_t candidates = 0;                     // plans compared with the masks
  std::int64_t plans_agreeing = 0;                 // plans that gave every bit of the random launches
  std::vector<std::string> notes;
};

/// Launches in which a whole tree of so many terms can be read one pair at a time, if it is a chain or
/// balanced (every term below a node's first child takes one pair: n/2 for each level, and n for the chains).
std::int64_t launches_for_tree(std::int64_t terms);

/// Throws Error if the contraction has no output without missing taps; what `run` throws passes through.
ProbeResult probe(const ProbeTarget& target, const ProbeOptions& options = {});

}  // namespace ulpscope
