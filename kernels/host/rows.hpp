#pragma once
// Host variants walk a contraction row by row: a row is a stretch of outputs along one output axis, and a
// term meets all of them at once, with evenly spaced elements of A and B. So any operator runs through the
// same few vector loops.
#include <array>
#include <cstdint>
#include <memory>

#include "kernels/host/vector.hpp"
#include "kernels/support/registry.hpp"
#include "reference/parallel.hpp"
#include "reference/terms.hpp"

namespace ulpscope::host {

/// Longest row; longer axes are cut. A row's sums stay in the first-level cache.
inline constexpr std::int64_t kRow = 512;

/// Operands as floats: in place for fp32, widened (exactly) otherwise. Missing second operand: a single 1.
struct FloatOperands {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;  // may be null
  std::array<std::shared_ptr<float[]>, 3> owned;
};
FloatOperands widen(const LaunchArgs& args);

/// Term `place` (its canonical number) of outputs first, first + step, ... (`count` of them) of a row.
struct RowTerm {
  std::int64_t place = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  std::int64_t a_step = 0, b_step = 0;
  std::int64_t first = 0, step = 1, count = 0;
};

/// Where a row lies.
struct Row {
  std::int64_t output = 0;  // linear index of its first output
  std::int64_t length = 0;
  std::array<std::int64_t, kMaxAxes> at{};  // coordinates of its first output
};

/// Longest row of a launch: kRow, or fewer outputs where it asks for them (LaunchShape::block).
std::int64_t row_limit(const LaunchArgs& args);
/// Of a launch in pieces of at most `limit` outputs: "rows of 512, 3 threads".
std::string shape_text(const LaunchArgs& args, std::int64_t limit);

/// A contraction's rows and their terms. Immutable: threads share it.
class RowWalk {
 public:
  RowWalk(const Contraction& c, const FloatOperands& operands, std::int64_t limit = kRow);

  std::int64_t rows() const { return rows_; }
  Row row(std::int64_t i) const;
  std::int64_t output_step() const { return output_step_; }  // between neighbours of a row
  std::int64_t bias_index(const Row& row) const;
  std::int64_t bias_step() const;

  /// Calls f(const RowTerm&) in canonical order; terms that no output of the row has are left out.
  template <class F>
  void for_each_term(const Row& row, F&& f) const;

 private:
  struct Level {  // a reduction axis as this row sees it
    std::int64_t size, a_stride, b_stride;
    const Coupling* coupling;  // null: not coupled
    bool along;                // coupled with the row's own axis
    std::int64_t base;         // o_mul*o + offset at the row's first output
  };
  bool narrow(const Level& level, std::int64_t r, RowTerm& term) const;

  const Contraction& c_;
  FloatOperands operands_;
  std::size_t axis_ = 0;  // the out axis that rows run along; c_.out.size() if there is none
  std::int64_t limit_ = kRow, axis_size_ = 1, output_step_ = 1, pieces_ = 1, rows_ = 1;
};

/// Adds the bias, divides, rounds once to the output format and stores a row's sums.
void finish_row(const RowWalk& walk, const Row& row, const LaunchArgs& args, const FloatOperands& operands,
                const float* sums);

/// Rounds once, to nearest even, to the output's format.
void store(const LaunchArgs& args, std::int64_t output, float y);

/// A launch that sums each row with a `Sums(loops, length)`: add(const RowTerm&) for every term, then
/// finish(), which gives the row's sums. `name` is what the notes call it.
template <class Sums>
LaunchNotes launch_rows(const char* name, const LaunchArgs& args) {
  const FloatOperands operands = widen(args);
  const std::int64_t limit = row_limit(args);
  const RowWalk walk(*args.contraction, operands, limit);
  const Loops loop = loops();
  parallel_for(walk.rows(), args.threads, [&](std::int64_t i) {
    const Row row = walk.row(i);
    Sums sums(loop, row.length);
    walk.for_each_term(row, [&](const RowTerm& t) { sums.add(t); });
    finish_row(walk, row, args, operands, sums.finish());
  });
  return {name, {to_string(simd_level())}, 0, shape_text(args, limit)};
}

/// "" for operands and outputs of at most 32 bits.
std::string unsupported(const Problem& problem, DType in, DType out, Mode mode);

/// Every operator: what host variants register for.
const std::vector<std::string>& all_operators();

template <class F>
void RowWalk::for_each_term(const Row& row, F&& f) const {
  RowTerm start;
  start.a = operands_.a + c_.a_offset;
  start.b = operands_.b + (c_.b_is_ones ? 0 : c_.b_offset);
  for (std::size_t x = 0; x < c_.out.size(); ++x) {
    start.a += row.at[x] * c_.out[x].a_stride;
    if (!c_.b_is_ones) start.b += row.at[x] * c_.out[x].b_stride;
  }
  if (axis_ < c_.out.size()) {
    start.a_step = c_.out[axis_].a_stride;
    start.b_step = c_.b_is_ones ? 0 : c_.out[axis_].b_stride;
  }
  start.count = row.length;
  const std::size_t levels = c_.red.size();
  if (levels == 0) return f(start);

  std::array<Level, kMaxAxes> level;
  for (std::size_t d = 0; d < levels; ++d) {
    const RedAxis& axis = c_.red[d];
    const Coupling& k = axis.coupling;
    const bool coupled = k.out_axis >= 0;
    const auto out = static_cast<std::size_t>(coupled ? k.out_axis : 0);
    level[d] = {axis.size,
                axis.a_stride,
                c_.b_is_ones ? 0 : axis.b_stride,
                coupled ? &k : nullptr,
                coupled && out == axis_,
                coupled ? k.o_mul * row.at[out] + k.offset : 0};
  }
  // Depth first; term[d] is what the axes before d have left of the row.
  std::array<RowTerm, kMaxAxes + 1> term;
  std::array<std::int64_t, kMaxAxes> r{};
  term[0] = start;
  std::size_t d = 0;
  for (;;) {
    if (r[d] == level[d].size) {
      if (d == 0) return;
      r[d] = 0;
      ++r[--d];
      continue;
    }
    term[d + 1] = term[d];
    term[d + 1].place = term[d].place * level[d].size + r[d];
    const bool exists = narrow(level[d], r[d], term[d + 1]);
    if (exists && d + 1 < levels) {
      ++d;
      continue;
    }
    if (exists) f(term[d + 1]);
    ++r[d];
  }
}

}  // namespace ulpscope::host
