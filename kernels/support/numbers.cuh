#pragma once
// Loads and stores of the storage formats, each rounding spelled out, and the dispatch from run-time dtypes
// to kernel templates.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "reference/error.hpp"
#include "reference/formats.hpp"

namespace ulpscope::cuda {

/// Exact: every value of the 16-bit formats is an fp32 number.
__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

/// Rounds an accumulator once, to nearest even, to the output format. A double goes straight to 16 bits
/// (rounding through fp32 first would round twice).
template <class T>
__device__ T round_to(float x);
template <>
__device__ inline float round_to<float>(float x) {
  return x;
}
template <>
__device__ inline __half round_to<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 round_to<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <class T>
__device__ T round_to(double x);
template <>
__device__ inline float round_to<float>(double x) {
  return __double2float_rn(x);
}
template <>
__device__ inline __half round_to<__half>(double x) {
  return __double2half(x);
}
template <>
__device__ inline __nv_bfloat16 round_to<__nv_bfloat16>(double x) {
  return __double2bfloat16(x);
}

/// Calls f(T{}) with the CUDA type of a dtype; fp64 is no kernel's type here.
template <class F>
void dispatch(DType type, F&& f) {
  switch (type) {
    case DType::f32:
      return f(float{});
    case DType::f16:
      return f(__half{});
    case DType::bf16:
      return f(__nv_bfloat16{});
    case DType::f64:
      break;
  }
  throw Error(std::string("no CUDA kernel takes ") + name_of(type) + ": use fp32, fp16 or bf16");
}

/// The pairs (input, output) that kernels are built for: equal types, or 16-bit inputs with fp32 output.
inline std::string unsupported_dtypes(DType in, DType out) {
  if (in == DType::f64 || out == DType::f64) return "CUDA kernels take fp32, fp16 and bf16, not fp64";
  if (in == out || out == DType::f32) return "";
  return std::string("no kernel reads ") + name_of(in) + " and writes " + name_of(out);
}

/// Calls f(In{}, Out{}) for a pair that unsupported_dtypes accepts.
template <class F>
void dispatch(DType in, DType out, F&& f) {
  if (const std::string why = unsupported_dtypes(in, out); !why.empty()) throw Error(why);
  if (in == DType::f32) return f(float{}, float{});
  if (in == DType::f16) return out == DType::f32 ? f(__half{}, float{}) : f(__half{}, __half{});
  return out == DType::f32 ? f(__nv_bfloat16{}, float{}) : f(__nv_bfloat16{}, __nv_bfloat16{});
}

}  // namespace ulpscope::cuda
