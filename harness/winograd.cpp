#include "harness/winograd.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::array<double, kMostWinogradPoints - 1> kPoints{0, 1, -1, 2, -2, 0.5, -0.5};

/// Coefficients of the product of (x - kPoints[i]) over i < n, i != skipped; lowest power first.
std::vector<double> product_of_roots(int n, int skipped) {
  std::vector<double> c{1};
  for (int i = 0; i < n; ++i) {
    if (i == skipped) continue;
    const double p = kPoints[static_cast<std::size_t>(i)];
    c.push_back(0);
    for (std::size_t k = c.size(); k-- > 0;) c[k] = (k > 0 ? c[k - 1] : 0) - p * c[k];
  }
  return c;
}

}  // namespace

WinogradTransforms winograd(int outputs, int taps) {
  if (outputs < 1 || taps < 1 || outputs + taps - 1 > kMostWinogradPoints)
    throw Error("Winograd transforms take at least one output and tap and at most " +
                std::to_string(kMostWinogradPoints) + " points");
  WinogradTransforms t{outputs, taps, {}, {}, {}};
  const int n = t.points(), finite = n - 1;
  auto index = [](int row, int columns, int column) {
    return static_cast<std::size_t>(row * columns + column);
  };
  t.at.assign(index(outputs, n, 0), 0);
  t.g.assign(index(n, taps, 0), 0);
  t.bt.assign(index(n, n, 0), 0);
  for (int i = 0; i < finite; ++i) {
    const double p = kPoints[static_cast<std::size_t>(i)];
    double differences = 1;
    for (int l = 0; l < finite; ++l)
      if (l != i) differences *= p - kPoints[static_cast<std::size_t>(l)];
    for (int j = 0; j < outputs; ++j) t.at[index(j, n, i)] = std::pow(p, j);
    for (int k = 0; k < taps; ++k) t.g[index(i, taps, k)] = std::pow(p, k) / differences;
    const std::vector<double> row = product_of_roots(finite, i);
    std::copy(row.begin(), row.end(), t.bt.begin() + i * n);
  }
  t.at[index(outputs - 1, n, finite)] = 1;  // the point at infinity
  t.g[index(finite, taps, taps - 1)] = 1;
  const std::vector<double> row = product_of_roots(finite, -1);
  std::copy(row.begin(), row.end(), t.bt.begin() + finite * n);
  return t;
}

double amplification(const WinogradTransforms& t) {
  const int n = t.points();
  double largest = 0;
  for (int j = 0; j < t.outputs; ++j) {
    double squares = 0;
    for (int k = 0; k < t.taps; ++k)
      for (int l = 0; l < n; ++l) {
        double w = 0;
        for (int i = 0; i < n; ++i)
          w += std::fabs(t.at[static_cast<std::size_t>(j * n + i)] *
                         t.g[static_cast<std::size_t>(i * t.taps + k)] *
                         t.bt[static_cast<std::size_t>(i * n + l)]);
        squares += w * w;
      }
    largest = std::max(largest, squares);
  }
  return std::sqrt(largest);
}

double largest_row_sum(const std::vector<double>& matrix, int columns) {
  double largest = 0;
  for (std::size_t from = 0; from < matrix.size(); from += static_cast<std::size_t>(columns)) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::fabs(matrix[from + static_cast<std::size_t>(i)]);
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace ulpscope
