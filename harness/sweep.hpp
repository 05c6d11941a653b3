#pragma once
// Random problems for live libraries: shapes that nobody chose, most of them unaligned, so that a plan which
// predicts their bits was not made for them.
#include <cstdint>
#include <string>
#include <vector>

#include "harness/case.hpp"

namespace ulpscope {

/// `count` cases, a function of (seed, number) alone: the first n of a longer sweep are the shorter one. Half
/// are gemms (a fifth of them batched, operands stored either way), half convolutions of rank 1 to 3,
/// transposed ones and both backward operators, with stride, padding, dilation and groups. About two thirds
/// have no extent that is a multiple of 8; a quarter have 16-bit operands. Inputs are normal. Tagged "sweep".
std::vector<Case> sweep_cases(std::int64_t count, std::uint64_t seed);

}  // namespace ulpscope
