// The frequent fills as loops over blocks, in steps that the compiler vectorises; the rest one by one.
// tests: the bits are fill_element's.
#include "harness/fill.hpp"

namespace ulpscope::ULPSCOPE_SIMD_LEVEL {
namespace {

constexpr int kPairs = 128;  // per block: its arrays stay in the first-level cache
constexpr int kElements = 2 * kPairs;

// The words of elements 2j and 2j + 1, for the pairs of one block.
struct Words {
  std::uint64_t first[kPairs], second[kPairs];
};

void random_words(const FillKey& key, std::uint64_t pair, Words& words) {
  const auto k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
  std::uint32_t c0[kPairs], c1[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    const std::uint64_t counter = pair + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(counter);
    c1[i] = static_cast<std::uint32_t>(counter >> 32);
  }
  for (int i = 0; i < kPairs; ++i) {
    const PhiloxState r = philox4x32({c0[i], c1[i], key.tensor, 0}, k0, k1);
    words.first[i] = std::uint64_t{r.c0} << 32 | r.c1;
    words.second[i] = std::uint64_t{r.c2} << 32 | r.c3;
  }
}

template <double (*kValue)(const FillParams&, std::uint64_t)>
void store_values(const FillParams& p, const Words& words, float* __restrict out) {
  float first[kPairs], second[kPairs];
  for (int i = 0; i < kPairs; ++i) first[i] = static_cast<float>(kValue(p, words.first[i]));
  for (int i = 0; i < kPairs; ++i) second[i] = static_cast<float>(kValue(p, words.second[i]));
  for (int i = 0; i < kPairs; ++i) {
    out[2 * i] = first[i];
    out[2 * i + 1] = second[i];
  }
}

void store_normals(const FillParams& p, const Words& words, float* __restrict out) {
  float first[kPairs], second[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    const NormalPair z = normal_pair(words.first[i], words.second[i]);
    first[i] = static_cast<float>(rounded_add(p.mean, rounded_mul(p.stddev, z.first)));
    second[i] = static_cast<float>(rounded_add(p.mean, rounded_mul(p.stddev, z.second)));
  }
  for (int i = 0; i < kPairs; ++i) {
    out[2 * i] = first[i];
    out[2 * i + 1] = second[i];
  }
}

void store(void* out, std::int64_t at, FillFormat format, std::uint64_t bits) {
  switch (format) {
    case FillFormat::f64:
      static_cast<std::uint64_t*>(out)[at] = bits;
      return;
    case FillFormat::f32:
      static_cast<std::uint32_t*>(out)[at] = static_cast<std::uint32_t>(bits);
      return;
    default:
      static_cast<std::uint16_t*>(out)[at] = static_cast<std::uint16_t>(bits);
  }
}

}  // namespace

void fill_range(const FillParams& params, const FillKey& key, std::int64_t begin, std::int64_t count,
                void* out) {
  const FillParams p = params;  // a local copy: stores through `out` cannot change it
  const bool by_block =
      p.format == FillFormat::f32 && (p.kind == FillKind::uniform || p.kind == FillKind::normal ||
                                      p.kind == FillKind::integers || p.kind == FillKind::tf32);
  std::int64_t done = 0;
  if (by_block) {
    Words words;
    for (; count - done >= kElements; done += kElements) {
      random_words(key, static_cast<std::uint64_t>(begin + done) / 2, words);
      float* to = static_cast<float*>(out) + done;
      if (p.kind == FillKind::uniform)
        store_values<uniform_value>(p, words, to);
      else if (p.kind == FillKind::integers)
        store_values<integer_value>(p, words, to);
      else if (p.kind == FillKind::tf32)
        store_values<tf32_value>(p, words, to);
      else
        store_normals(p, words, to);
    }
  }
  for (; done < count; ++done)
    store(out, done, p.format, fill_element(p, key, static_cast<std::uint64_t>(begin + done)));
}

}  // namespace ulpscope::ULPSCOPE_SIMD_LEVEL
