// One mma.sync per 8 rows: row i sits in row i of A and column i of B, so its result is on the diagonal of D.
// Every other element of A, B and C is zero, and each result depends on its own row and column alone.
#include "kernels/probe/mma_step.hpp"
#include "kernels/support/launch.cuh"

namespace ulpscope {
namespace {

constexpr int kRowsPerWarp = 8;
constexpr int kThreads = 128;

// Fragment layout (PTX ISA, m16n8k8 and m16n8k16): g = lane/4 is A's row and B's column, t = lane%4 picks the
// k's. The diagonal element (g, g) of D lies in the lane with t = g/2, in its register g%2.
struct Lane {
  std::int64_t row;
  int g, t;
  bool owns_diagonal;
};

__device__ Lane this_lane() {
  const std::int64_t warp = cuda::global_thread() / 32;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  return {warp * kRowsPerWarp + g, g, t, t == g / 2};
}

// Rows are padded to whole warps by the caller, so that all 32 lanes take part in the instruction.
__global__ void tf32_rows(const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                          std::uint32_t* d) {
  const Lane me = this_lane();
  const std::uint32_t *ar = a + me.row * 8, *br = b + me.row * 8;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  if (me.owns_diagonal) (me.g % 2 ? d1 : d0) = __uint_as_float(c[me.row]);
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
      : "r"(ar[me.t]), "r"(0), "r"(ar[me.t + 4]), "r"(0), "r"(br[me.t]), "r"(br[me.t + 4]));
  if (me.owns_diagonal) d[me.row] = __float_as_uint(me.g % 2 ? d1 : d0);
}

__device__ std::uint32_t pair_of(const std::uint32_t* halves) {
  return halves[0] | halves[1] << 16;
}

template <MmaKind kind>
__global__ void half_rows(const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                          std::uint32_t* d) {
  const Lane me = this_lane();
  const std::uint32_t *ar = a + me.row * 16 + 2 * me.t, *br = b + me.row * 16 + 2 * me.t;
  const std::uint32_t a0 = pair_of(ar), a2 = pair_of(ar + 8), b0 = pair_of(br), b1 = pair_of(br + 8);
  if constexpr (kind == MmaKind::f16_f16) {
    const int shift = 16 * (me.g % 2);
    std::uint32_t d0 = me.owns_diagonal ? c[me.row] << shift : 0, d1 = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d0), "+r"(d1)
                 : "r"(a0), "r"(0), "r"(a2), "r"(0), "r"(b0), "r"(b1));
    if (me.owns_diagonal) d[me.row] = d0 >> shift & 0xffff;
  } else {
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    if (me.owns_diagonal) (me.g % 2 ? d1 : d0) = __uint_as_float(c[me.row]);
    if constexpr (kind == MmaKind::bf16_f32) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%0,%1,%2,%3};"
          : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
          : "r"(a0), "r"(0), "r"(a2), "r"(0), "r"(b0), "r"(b1));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%0,%1,%2,%3};"
          : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
          : "r"(a0), "r"(0), "r"(a2), "r"(0), "r"(b0), "r"(b1));
    }
    if (me.owns_diagonal) d[me.row] = __float_as_uint(me.g % 2 ? d1 : d0);
  }
}

}  // namespace

std::vector<std::uint32_t> mma_step(MmaKind kind, const std::vector<std::uint32_t>& a,
                                    const std::vector<std::uint32_t>& b,
                                    const std::vector<std::uint32_t>& c) {
  const auto rows = static_cast<std::int64_t>(c.size());
  const int k = mma_k(kind);
  if (static_cast<std::int64_t>(a.size()) != rows * k || static_cast<std::int64_t>(b.size()) != rows * k)
    throw Error("mma_step: a and b must hold " + std::to_string(k) + " numbers for each of the " +
                std::to_string(rows) + " rows of c");
  if (rows == 0) return {};
  constexpr std::int64_t kRowsPerBlock = kRowsPerWarp * (kThreads / 32);
  const std::int64_t blocks = cuda::ceil_div(rows, kRowsPerBlock);
  cuda::Stream stream;
  auto upload = [&](const std::vector<std::uint32_t>& host, std::int64_t per_row) {
    cuda::DeviceMemory device(static_cast<std::size_t>(blocks * kRowsPerBlock * per_row) * 4,
                              "probe operands");
    cuda::check(cudaMemsetAsync(device.data(), 0, device.bytes(), stream.get()), "cudaMemsetAsync");
    cuda::copy_to_device(device.data(), host.data(), host.size() * 4, stream.get());
    return device;
  };
  const auto da = upload(a, k), db = upload(b, k), dc = upload(c, 1);
  const cuda::DeviceMemory dd(dc.bytes(), "probe results");
  auto run = [&](auto kernel) {
    cuda::launch("mma_step", kernel, cuda::grid_of("mma_step", blocks), dim3(kThreads), 0, stream.get(),
                 da.as<std::uint32_t>(), db.as<std::uint32_t>(), dc.as<std::uint32_t>(),
                 dd.as<std::uint32_t>());
  };
  switch (kind) {
    case MmaKind::tf32_f32:
      run(tf32_rows);
      break;
    case MmaKind::bf16_f32:
      run(half_rows<MmaKind::bf16_f32>);
      break;
    case MmaKind::f16_f32:
      run(half_rows<MmaKind::f16_f32>);
      break;
    case MmaKind::f16_f16:
      run(half_rows<MmaKind::f16_f16>);
      break;
  }
  std::vector<std::uint32_t> d(c.size());
  cuda::copy_to_host(d.data(), dd.data(), d.size() * 4, stream.get());
  stream.synchronize("mma_step");
  return d;
}

}  // namespace ulpscope
