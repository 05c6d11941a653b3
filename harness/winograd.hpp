#pragma once
// Winograd's minimal filtering: F(outputs, taps) gives `outputs` neighbouring results of a correlation with
// `taps` weights by outputs + taps - 1 products instead of outputs * taps:
//   y = A^T [(G g) . (B^T d)],  y_j = sum_k g_k d_{j+k}.
#include <vector>

namespace ulpscope {

/// The three transforms, row-major.
struct WinogradTransforms {
  int outputs = 0, taps = 0;
  std::vector<double> at;  // [outputs, points]
  std::vector<double> g;   // [points, taps]
  std::vector<double> bt;  // [points, points]

  int points() const { return outputs + taps - 1; }
};

/// The most evaluation points of any published fp32 implementation: 0, +-1, +-2, +-1/2 and infinity. Beyond,
/// too few digits are left.
inline constexpr int kMostWinogradPoints = 8;

/// Toom-Cook with the first points of 0, 1, -1, 2, -2, 1/2, -1/2 and infinity. Throws Error for fewer than
/// one output or tap and for more than kMostWinogradPoints points.
WinogradTransforms winograd(int outputs, int taps);

/// How much larger the numbers inside are than those of a plain sum: the least w such that for every j
///   sum_i |A^T_ji| (|G| |g|)_i (|B^T| |d|)_i <= w ||g|| ||d||   (2-norms)
/// up to 2 %: the largest Frobenius norm over j of the matrix W_kl = sum_i |A^T_ji| |G_ik| |B^T_il|. It does
/// not depend on how the rows are scaled, which every implementation does its own way.
double amplification(const WinogradTransforms& t);

/// Largest sum of magnitudes along a row of a matrix with `columns` columns.
double largest_row_sum(const std::vector<double>& matrix, int columns);

}  // namespace ulpscope
