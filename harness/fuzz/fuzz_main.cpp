// Drives a fuzz target without libFuzzer: replays given files, or makes inputs by mutating seeds with a fixed
// generator.
//   <target> [--runs N] [--seed S] FILE_OR_FOLDER...
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes mutate(const std::vector<Bytes>& seeds, std::mt19937_64& rng) {
  auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % (n ? n : 1)); };
  Bytes b = seeds.empty() ? Bytes(pick(256)) : seeds[pick(seeds.size())];
  for (std::size_t edits = 1 + pick(8); edits > 0; --edits) {
    if (b.empty()) b.push_back(static_cast<std::uint8_t>(rng()));
    const std::size_t at = pick(b.size());
    switch (pick(7)) {
      case 0:
        b[at] ^= static_cast<std::uint8_t>(1u << pick(8));
        break;
      case 1:
        b[at] = static_cast<std::uint8_t>(rng());
        break;
      case 2:
        b.resize(at);
        break;
      case 3:
        b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), 1 + pick(16), static_cast<std::uint8_t>(rng()));
        break;
      case 4:
        b.erase(b.begin() + static_cast<std::ptrdiff_t>(at),
                b.begin() + static_cast<std::ptrdiff_t>(at + pick(b.size() - at)));
        break;
      case 5: {  // an interesting integer
        static constexpr std::uint64_t kEdges[] = {
            0, 1, 0x7f, 0xff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~0ull};
        const std::uint64_t v = kEdges[pick(8)];
        std::memcpy(&b[at], &v, std::min<std::size_t>(b.size() - at, 1ull << pick(4)));
        break;
      }
      default: {  // splice
        if (seeds.empty()) break;
        const Bytes& other = seeds[pick(seeds.size())];
        if (!other.empty()) {
          const std::size_t from = pick(other.size());
          b.resize(at);
          b.insert(b.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
        }
      }
    }
  }
  return b;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = 0, seed = 1;
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      auto add = [&](const std::filesystem::path& p) {
        std::ifstream in(p, std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      };
      if (std::filesystem::is_directory(arg)) {
        for (auto& e : std::filesystem::directory_iterator(arg))
          if (e.is_regular_file()) add(e.path());
      } else {
        add(arg);
      }
    }
  }
  for (auto& s : seeds) LLVMFuzzerTestOneInput(s.data(), s.size());
  std::mt19937_64 rng(seed);
  for (std::uint64_t i = 0; i < runs; ++i) {
    const Bytes b = mutate(seeds, rng);
    LLVMFuzzerTestOneInput(b.data(), b.size());
  }
  std::printf("%zu seeds and %llu mutated inputs ran clean\n", seeds.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}
