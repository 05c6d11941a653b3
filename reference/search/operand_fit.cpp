#include "reference/search/operand_fit.hpp"

#include <algorithm>
#include <cmath>

#include "reference/search/sample.hpp"

namespace ulpscope {
namespace {

class Ranking {
 public:
  Ranking(const Contraction& c, const Operands& operands, const Observation& seen,
          const std::vector<std::size_t>& sample)
      : c_(c), operands_(operands), seen_(seen), sample_(sample) {}

  std::vector<OperandFit> operator()(std::vector<OperandFormat> formats) const {
    if (formats.empty())
      formats = {OperandFormat::fp32,    OperandFormat::tf32_rne, OperandFormat::tf32_rna,
                 OperandFormat::tf32_rz, OperandFormat::bf16,     OperandFormat::fp16};
    const bool short_data = prefer_exact_format(formats);
    std::vector<OperandFit> fits;
    for (const OperandFormat a : formats) {
      fits.push_back(fit_of(a, a));
      if (a == OperandFormat::fp32 || c_.b_is_ones ||
          std::find(formats.begin(), formats.end(), OperandFormat::fp32) == formats.end())
        continue;
      fits.push_back(fit_of(a, OperandFormat::fp32));
      fits.push_back(fit_of(OperandFormat::fp32, a));
    }
    // What changes nothing stays first where it can be: 16-bit outputs hide what another format would change
    // (bf16 numbers below fp16's normal ones), and the least residual is then one of chance.
    const auto first = fits.begin() + (short_data && fits.front().admissible ? 1 : 0);
    std::stable_sort(first, fits.end(), [](auto& x, auto& y) { return x.residual < y.residual; });
    return fits;
  }

 private:
  // Operands that already are numbers of a narrower format: roundings to formats that hold them all change
  // nothing, so one name stands for them, that of the narrowest format, and it comes first (16-bit data goes
  // to tensor cores). Returns whether there is such a format.
  bool prefer_exact_format(std::vector<OperandFormat>& formats) const {
    auto unchanged = [&](OperandFormat format) {
      for (const std::size_t i : sample_) {
        const std::int64_t o = seen_.outputs[i];
        const SampledOutput stored =
            sample_output(c_, operands_, OperandFormat::fp32, OperandFormat::fp32, o, 0);
        const SampledOutput shorter = sample_output(c_, operands_, format, format, o, 0);
        if (stored.a != shorter.a || stored.b != shorter.b) return false;
      }
      return true;
    };
    for (const OperandFormat narrow : {OperandFormat::bf16, OperandFormat::fp16, OperandFormat::tf32_rne}) {
      if (std::find(formats.begin(), formats.end(), narrow) == formats.end() || !unchanged(narrow)) continue;
      std::vector<OperandFormat> kept{narrow};
      for (const OperandFormat f : formats)
        if (f == OperandFormat::fp32 || (f != narrow && !unchanged(f))) kept.push_back(f);
      formats = kept;
      return true;
    }
    return false;
  }

  OperandFit fit_of(OperandFormat a, OperandFormat b) const {
    OperandFit fit{a, b, 0, true};
    double squares = 0;
    std::int64_t counted = 0;
    for (const std::size_t i : sample_) {
      const double seen = value_of_bits(seen_.dtype, seen_.bits[i]);
      if (!std::isfinite(seen)) continue;
      const SampledOutput o = sample_output(c_, operands_, a, b, seen_.outputs[i], seen_.bits[i]);
      double sum = o.bias, magnitude = std::abs(o.bias);
      std::int64_t terms = 1;
      for (std::size_t t = 0; t < o.has.size(); ++t) {
        if (!o.has[t]) continue;
        const double product = static_cast<double>(o.a[t]) * static_cast<double>(o.b[t]);
        sum += product;
        magnitude += std::abs(product);
        ++terms;
      }
      sum /= c_.divisor;
      magnitude /= std::abs(c_.divisor);
      if (!std::isfinite(sum) || magnitude == 0) continue;
      const double error = std::abs(seen - sum);
      const double unit = 0x1p-24 * magnitude;
      // Any order of rounded sums stays within n*u*S; a truncating tensor core of 24 bits within twice that.
      // Partial sums that are kept in a 16-bit format add half an ulp of each, u_out * S in all.
      const double partials =
          seen_.dtype == DType::f32 ? 0 : std::ldexp(magnitude, -info(seen_.dtype).precision);
      const double bound = 2.01 * static_cast<double>(terms + 2) * unit + partials +
                           0.51 * ulp_at(seen_.dtype, sum) + 0x1p-140;
      if (error > bound) fit.admissible = false;
      squares += (error / unit) * (error / unit);
      ++counted;
    }
    fit.residual = counted ? std::sqrt(squares / static_cast<double>(counted)) : 0;
    return fit;
  }

  const Contraction& c_;
  const Operands& operands_;
  const Observation& seen_;
  const std::vector<std::size_t>& sample_;
};

}  // namespace

std::vector<OperandFit> rank_operands(const Contraction& c, const Operands& operands, const Observation& seen,
                                      const std::vector<std::size_t>& sample,
                                      const std::vector<OperandFormat>& admitted) {
  return Ranking(c, operands, seen, sample)(admitted);
}

}  // namespace ulpscope
