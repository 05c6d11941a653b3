#include "kernels/support/bias.hpp"

#include "kernels/support/launch.cuh"
#include "kernels/support/numbers.cuh"

namespace ulpscope::cuda {
namespace {

template <class Out, class Bias>
__global__ void bias_kernel(Out* out, const Bias* bias, std::int64_t count, std::int64_t inner,
                            std::int64_t channels) {
  // In double, so that a 16-bit output and an fp32 bias are rounded once; for two floats double and then
  // float is one rounding too (53 >= 2*24 + 2).
  for (std::int64_t i = global_thread(); i < count; i += grid_threads())
    out[i] = round_to<Out>(__dadd_rn(static_cast<double>(to_float(out[i])),
                                     static_cast<double>(to_float(bias[(i / inner) % channels]))));
}

}  // namespace

void add_bias(void* out, DType out_type, const void* bias, DType bias_type, std::int64_t count,
              std::int64_t inner, std::int64_t channels, cudaStream_t stream) {
  dispatch(bias_type, [&](auto bias_tag) {
    dispatch(out_type, [&](auto out_tag) {
      using Bias = decltype(bias_tag);
      using Out = decltype(out_tag);
      launch("bias", bias_kernel<Out, Bias>, dim3(blocks_for(count, 256)), dim3(256), 0, stream,
             static_cast<Out*>(out), static_cast<const Bias*>(bias), count, inner, channels);
    });
  });
}

void add_contraction_bias(const LaunchArgs& args) {
  const Shape& out = args.contraction->out_shape;
  const std::int64_t count = elements(out), channels = args.contraction->bias_size;
  const bool columns = args.problem->params.op == "gemm" || args.problem->params.op == "linear";
  const bool last = args.layout == Layout::channels_last;
  const std::int64_t inner = columns || last ? 1 : count / (out[0] * out[1]);
  add_bias(args.out, args.out_dtype, args.bias, args.in_dtype, count, inner, channels,
           static_cast<cudaStream_t>(args.stream));
}

}  // namespace ulpscope::cuda
