#pragma once
// Bounds of convolutions that do not add an output's terms at all: Winograd and FFT engines. Their errors
// follow the size of the whole tile that is transformed, so an output whose own terms are small can be far
// off relative to them, and the bound is one number for all outputs.
#include "harness/measure.hpp"
#include "kernels/support/registry.hpp"

namespace ulpscope {

enum class Transform : std::uint8_t { none, winograd, fft };

/// What the library says of the engine it ran (numerical notes WINOGRAD, FFT).
Transform transform_of(const LaunchNotes& notes);

/// The widest bound of any admissible transform: Winograd's tile and points are the library's secret, so the
/// widest F(m, taps) of at most kMostWinogradPoints points is taken; the FFT is taken over the whole padded
/// image, which covers tilings of it. No bound (per_s infinite, and the formula says why) where the data has
/// infinities, where a transformed value may overflow its format, and for Winograd with more than 7 taps
/// along an axis. Throws Error unless `problem` is a convolution and `transform` one of the two.
OutputBound bound_of_transform(Transform transform, const Problem& problem, Mode mode, DType in, DType out,
                               const Operands& operands, int threads = 0);

}  // namespace ulpscope
