#include "harness/inputs.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "harness/fill.hpp"
#include "reference/parallel.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kFillChunk = std::int64_t{1} << 20;  // elements; even, as fill_range wants
constexpr std::size_t kHashChunk = std::size_t{16} << 20;   // bytes; part of the hash's definition

std::string hex(const XXH128_hash_t& hash) {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text.data();
}

Tensor make(const TensorFill& fill, int threads) {
  Tensor t = make_tensor(fill.dtype, fill.shape);
  fill_tensor(fill, 0, t.size(), t.data.get(), threads);
  return t;
}

}  // namespace

void fill_tensor(const TensorFill& fill, std::int64_t begin, std::int64_t count, void* out, int threads) {
  const std::int64_t chunks = (count + kFillChunk - 1) / kFillChunk;
  const std::int64_t bytes = size_of(fill.dtype);
  parallel_for(chunks, threads, [&](std::int64_t i) {
    const std::int64_t from = i * kFillChunk, n = std::min(kFillChunk, count - from);
    fill_range(fill.params, fill.key, begin + from, n, static_cast<std::byte*>(out) + from * bytes);
  });
}

std::string hash_bytes(const void* data, std::size_t bytes, int threads) {
  const std::size_t chunks = std::max<std::size_t>(1, (bytes + kHashChunk - 1) / kHashChunk);
  std::vector<XXH128_canonical_t> parts(chunks);
  parallel_for(static_cast<std::int64_t>(chunks), threads, [&](std::int64_t i) {
    const std::size_t from = static_cast<std::size_t>(i) * kHashChunk;
    const std::size_t n = std::min(kHashChunk, bytes - from);
    XXH128_canonicalFromHash(&parts[static_cast<std::size_t>(i)],
                             XXH3_128bits(static_cast<const std::byte*>(data) + from, n));
  });
  return hex(XXH3_128bits(parts.data(), parts.size() * sizeof parts[0]));
}

Operands Inputs::operands() const {
  return {a.view(), b.view(), bias.view()};
}

Inputs inputs_from(Tensor a, Tensor b, Tensor bias, int threads) {
  Inputs inputs{std::move(a), std::move(b), std::move(bias), "", "", "", ""};
  std::string text;
  auto add = [&](const Tensor& t, std::string& hash) {
    if (!t.data) return;
    hash = hash_bytes(t.data.get(), t.view().bytes(), threads);
    text += std::string(name_of(t.dtype)) + " " + to_string(t.shape) + " " + hash + "\n";
  };
  add(inputs.a, inputs.hash_a);
  add(inputs.b, inputs.hash_b);
  add(inputs.bias, inputs.hash_bias);
  inputs.hash = hex(XXH3_128bits(text.data(), text.size()));
  return inputs;
}

Inputs make_inputs(const Case& c, int threads) {
  const CaseFills fills = resolve_fills(c);
  auto tensor = [&](const TensorFill& fill) { return fill.present ? make(fill, threads) : Tensor{}; };
  Tensor a = tensor(fills.a), b = tensor(fills.b), bias = tensor(fills.bias);
  return inputs_from(std::move(a), std::move(b), std::move(bias), threads);
}

}  // namespace ulpscope
