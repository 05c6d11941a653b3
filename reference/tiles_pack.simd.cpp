#include <cstring>

#include "reference/tiles_pack.hpp"

namespace ulpscope {
namespace ULPSCOPE_SIMD_LEVEL {
namespace {

// Element types as stored; widening to float or double is exact.
struct F64 {
  double raw;
};
struct F32 {
  float raw;
};
struct BF16 {
  std::uint16_t raw;
};
struct F16 {
  std::uint16_t raw;
};

inline float from_bits(std::uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

template <class T>
inline T widen(F64 x) {
  return static_cast<T>(x.raw);
}
template <class T>
inline T widen(F32 x) {
  return static_cast<T>(x.raw);
}
template <class T>
inline T widen(BF16 x) {
  return static_cast<T>(from_bits(static_cast<std::uint32_t>(x.raw) << 16));
}
// Exponent and fraction moved to their places in a float are too small by 2^112 (the difference of the
// biases); the multiplication also turns half subnormals into normal floats. Infinity and NaN get the full
// exponent.
template <class T>
inline T widen(F16 x) {
  const std::uint32_t h = x.raw, rest = (h & 0x7fff) << 13;
  std::uint32_t bits;
  const float scaled = from_bits(rest) * 0x1p112f;
  std::memcpy(&bits, &scaled, sizeof bits);
  bits = (h & 0x7c00) == 0x7c00 ? rest | 0x7f800000u : bits;
  return static_cast<T>(from_bits(bits | (h & 0x8000) << 16));
}

template <class T>
void scatter_row(const T* row, std::int64_t panels, std::int64_t terms, int width, T* destination) {
  const std::int64_t step = terms * width;
  switch (width) {  // fixed widths become plain vector moves
    case 8:
      for (std::int64_t p = 0; p < panels; ++p)
        std::memcpy(destination + p * step, row + p * 8, 8 * sizeof(T));
      return;
    case 4:
      for (std::int64_t p = 0; p < panels; ++p)
        std::memcpy(destination + p * step, row + p * 4, 4 * sizeof(T));
      return;
    case 16:
      for (std::int64_t p = 0; p < panels; ++p)
        std::memcpy(destination + p * step, row + p * 16, 16 * sizeof(T));
      return;
    default:
      for (std::int64_t p = 0; p < panels; ++p)
        for (int w = 0; w < width; ++w) destination[p * step + w] = row[p * width + w];
  }
}

template <class T, class Source>
struct Packing {
  const PackJob& job;
  const Source* source = static_cast<const Source*>(job.source);
  T* destination = static_cast<T*>(job.destination);
  std::int64_t panels = (job.positions + job.width - 1) / job.width;
  std::int64_t padded = panels * job.width;
  T* row = static_cast<T*>(job.row);
  std::uint8_t* row_valid =
      static_cast<std::uint8_t*>(job.row) + padded * static_cast<std::int64_t>(sizeof(double));

  // No padding and no contiguous rows (a transposed matrix): each position reads its own stream of terms.
  void gather() {
    const int width = job.width;
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t* address = job.address + p * width;
      const std::int64_t left = job.positions - p * width;
      const int here = left < width ? static_cast<int>(left) : width;
      T* d = destination + p * job.terms * width;
      for (std::int64_t t = 0; t < job.terms; ++t, d += width) {
        const Source* s = source + job.term_address[t];
        for (int w = 0; w < here; ++w) d[w] = widen<T>(s[address[w]]);
        for (int w = here; w < width; ++w) d[w] = 0;
        if (job.valid)
          for (int w = 0; w < width; ++w) job.valid[d - destination + w] = w < here;
      }
    }
  }

  void copy(std::int64_t first, std::int64_t count, const Source* s, std::int64_t step) {
    T* d = row + first;
    if (step == 1)
      for (std::int64_t i = 0; i < count; ++i) d[i] = widen<T>(s[i]);
    else
      for (std::int64_t i = 0; i < count; ++i) d[i] = widen<T>(s[i * step]);
  }

  void clear(std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) row[i] = 0;
    if (job.valid) std::memset(row_valid + first, 0, static_cast<std::size_t>(count));
  }

  // One term over stretches of evenly spaced positions: the existing ones of a stretch are an interval.
  void fill_by_runs(std::int64_t t) {
    for (std::int64_t r = 0; r < job.runs; ++r) {
      const std::int64_t* run = job.run + r * kRunFields;
      const std::int64_t first = run[0], length = run[1];
      std::int64_t lo = 0, hi = length;
      for (int x = 0; x < job.coupled; ++x) {
        if (job.residue[x][first] != job.term_residue[x][t]) hi = 0;
        const std::int64_t start = job.quotient[x][first] + job.term_quotient[x][t], step = run[3 + x];
        const std::int64_t room = job.extent[x] - start;  // positions l with 0 <= start + l*step < extent
        if (step == 0) {
          if (start < 0 || room <= 0) hi = 0;
        } else {
          const std::int64_t from = start >= 0 ? 0 : step == 1 ? -start : (-start + step - 1) / step;
          const std::int64_t to = room <= 0 ? 0 : step == 1 ? room : (room + step - 1) / step;
          if (from > lo) lo = from;
          if (to < hi) hi = to;
        }
      }
      if (hi <= lo) {
        clear(first, length);
        continue;
      }
      clear(first, lo);
      copy(first + lo, hi - lo, source + job.address[first] + job.term_address[t] + lo * run[2], run[2]);
      if (job.valid) std::memset(row_valid + first + lo, 1, static_cast<std::size_t>(hi - lo));
      clear(first + hi, length - hi);
    }
  }

  // One term, position by position, without branches: missing taps read element 0 and are masked.
  template <int Coupled>
  void fill_each(std::int64_t t) {
    std::int64_t term_quotient[3], term_residue[3];
    for (int x = 0; x < Coupled; ++x) {
      term_quotient[x] = job.term_quotient[x][t];
      term_residue[x] = job.term_residue[x][t];
    }
    const std::int64_t term_address = job.term_address[t];
    for (std::int64_t l = 0; l < job.positions; ++l) {
      bool exists = true;
      for (int x = 0; x < Coupled; ++x) {
        const auto coordinate = static_cast<std::uint64_t>(job.quotient[x][l] + term_quotient[x]);
        exists = exists & (coordinate < static_cast<std::uint64_t>(job.extent[x])) &
                 (job.residue[x][l] == term_residue[x]);
      }
      const std::int64_t at = exists ? job.address[l] + term_address : 0;
      const T value = widen<T>(source[at]);
      row[l] = exists ? value : T(0);
      if (job.valid) row_valid[l] = exists;
    }
  }

  void rows() {
    for (std::int64_t i = job.positions; i < padded; ++i) {
      row[i] = 0;
      row_valid[i] = 0;
    }
    const bool by_runs = job.runs * 6 <= job.positions || job.coupled == 0;
    for (std::int64_t t = 0; t < job.terms; ++t) {
      if (by_runs)
        fill_by_runs(t);
      else if (job.coupled == 1)
        fill_each<1>(t);
      else if (job.coupled == 2)
        fill_each<2>(t);
      else
        fill_each<3>(t);
      scatter_row(row, panels, job.terms, job.width, destination + t * job.width);
      if (job.valid) scatter_row(row_valid, panels, job.terms, job.width, job.valid + t * job.width);
    }
  }

  void run() {
    bool contiguous = job.runs * 4 <= job.positions;
    for (std::int64_t r = 0; r < job.runs; ++r) contiguous = contiguous && job.run[r * kRunFields + 2] == 1;
    if (job.coupled == 0 && !contiguous)
      gather();
    else
      rows();
  }
};

template <class T>
void pack(const PackJob& job) {
  switch (job.dtype) {
    case DType::f64:
      return Packing<T, F64>{job}.run();
    case DType::f32:
      return Packing<T, F32>{job}.run();
    case DType::bf16:
      return Packing<T, BF16>{job}.run();
    case DType::f16:
      return Packing<T, F16>{job}.run();
  }
}

}  // namespace

void pack_float(const PackJob& job) {
  pack<float>(job);
}
void pack_double(const PackJob& job) {
  pack<double>(job);
}

}  // namespace ULPSCOPE_SIMD_LEVEL
}  // namespace ulpscope
