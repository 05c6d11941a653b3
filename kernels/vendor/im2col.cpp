#include "kernels/vendor/im2col.hpp"

namespace ulpscope::vendor {

Im2col im2col_of(const Problem& problem) {
  const OperatorParams& p = problem.params;
  const Shape out = output_shape(problem);
  Im2col m;
  m.images = problem.a[0];
  m.groups = p.groups;
  m.channels = problem.a[1] / p.groups;
  m.rows = problem.b[1];
  m.taps = problem.b[2];
  m.length = problem.a[2];
  m.positions = out[2];
  m.stride = p.stride[0];
  m.padding = p.padding[0];
  m.dilation = p.dilation[0];
  return m;
}

}  // namespace ulpscope::vendor
