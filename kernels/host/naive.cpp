// Naive: every term in canonical order.
// Order: one chain (convolutions: channels, then taps).
// Promise: fp32 FMA; taps on padding are left out.
// Cost: one vector FMA per term and eight outputs, the sums loaded and stored each time.
#include "kernels/host/rows.hpp"
#include "kernels/host/vector.hpp"
#include "reference/parallel.hpp"

namespace ulpscope::host {
namespace {

LaunchNotes launch(const LaunchArgs& args) {
  const FloatOperands operands = widen(args);
  const RowWalk walk(*args.contraction, operands);
  const Loops loop = loops();
  parallel_for(walk.rows(), args.threads, [&](std::int64_t i) {
    const Row row = walk.row(i);
    float sum[kRow];
    loop.fill(sum, 0, row.length);
    walk.for_each_term(row, [&](const RowTerm& t) {
      loop.fma(sum + t.first, t.step, t.a, t.a_step, t.b, t.b_step, t.count);
    });
    finish_row(walk, row, args, operands, sum);
  });
  return {"naive", {to_string(simd_level())}, 0};
}

const Register variant{{.name = "host_naive",
                        .summary = "CPU: one fp32 FMA chain in canonical order",
                        .source = "kernels/host/naive.cpp",
                        .where = Where::host,
                        .plan = [](const Problem&, Mode) { return std::string("fp32 | fma"); },
                        .unsupported = unsupported,
                        .launch = launch},
                       all_operators()};

}  // namespace
}  // namespace ulpscope::host
