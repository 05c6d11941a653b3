#include "harness/explain/mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

// Largest and smallest index that an operand's strides can reach. Coupled coordinates are limited by the
// extent.
struct Reach {
  std::int64_t low = 0, high = 0;
  void add(std::int64_t stride, std::int64_t size) {
    const std::int64_t end = stride * (size - 1);
    (end < 0 ? low : high) += end;
  }
};

void reverse_taps(Contraction& c, RedAxis& tap) {
  c.b_offset += (tap.size - 1) * tap.b_stride;
  tap.b_stride = -tap.b_stride;
}

class Maker {
 public:
  Maker(const Problem& problem, const Contraction& c) : problem_(problem), c_(c) {}

  std::vector<Mutant> operator()() {
    taps();
    weight_layouts();
    geometry();
    geometry_of_all();
    channels();
    layouts();
    shifts();
    other_parameters();
    return std::move(all_);
  }

 private:
  void add(const std::string& name, const std::string& what,
           const std::function<bool(Contraction&)>& change) {
    Contraction m = c_;
    if (change(m) && stays_inside(m)) all_.push_back({name, what, std::move(m)});
  }

  void taps() {
    std::vector<std::size_t> coupled;
    for (std::size_t x = 0; x < c_.red.size(); ++x)
      if (c_.red[x].coupling.out_axis >= 0 && c_.red[x].size > 1) coupled.push_back(x);
    if (coupled.empty()) return;
    add("flipped_taps", "the kernel's taps are used in reverse order (convolution against correlation)",
        [&](Contraction& m) {
          for (const std::size_t x : coupled) reverse_taps(m, m.red[x]);
          return true;
        });
    if (coupled.size() > 1) {
      for (const std::size_t x : coupled)
        add("flipped_taps", "the taps along " + c_.red[x].name + " are used in reverse order",
            [&](Contraction& m) {
              reverse_taps(m, m.red[x]);
              return true;
            });
      const std::size_t u = coupled[coupled.size() - 2], v = coupled.back();
      if (c_.red[u].size == c_.red[v].size)
        add("transposed_taps", "the kernel's last two axes are exchanged", [&](Contraction& m) {
          std::swap(m.red[u].b_stride, m.red[v].b_stride);
          return true;
        });
    }
  }

  // The weight's memory read as if its axes lay in another order.
  void weight_layouts() {
    struct Axis {
      bool red;
      std::size_t at;
      std::int64_t size, stride;
    };
    std::vector<Axis> axes;
    for (std::size_t x = 0; x < c_.out.size(); ++x)
      if (c_.out[x].b_stride != 0 && c_.out[x].size > 1)
        axes.push_back({false, x, c_.out[x].size, c_.out[x].b_stride});
    for (std::size_t x = 0; x < c_.red.size(); ++x)
      if (c_.red[x].b_stride != 0 && c_.red[x].size > 1)
        axes.push_back({true, x, c_.red[x].size, c_.red[x].b_stride});
    std::sort(axes.begin(), axes.end(), [](auto& a, auto& b) { return a.stride > b.stride; });
    if (axes.size() < 2 || axes.size() > 4) return;
    std::vector<std::size_t> order(axes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    while (std::next_permutation(order.begin(), order.end())) {
      std::string names;
      for (const std::size_t i : order)
        names +=
            (names.empty() ? "" : ", ") + (axes[i].red ? c_.red[axes[i].at].name : c_.out[axes[i].at].name);
      add("weight_layout", "the weight's memory is read as if its axes were [" + names + "]",
          [&](Contraction& m) {
            std::int64_t stride = 1;
            bool changed = false;
            for (std::size_t i = order.size(); i-- > 0;) {
              const Axis& a = axes[order[i]];
              (a.red ? m.red[a.at].b_stride : m.out[a.at].b_stride) = stride;
              changed |= stride != a.stride;
              stride *= a.size;
            }
            return changed;
          });
    }
  }

  void geometry() {
    for (std::size_t x = 0; x < c_.red.size(); ++x) {
      const Coupling& k = c_.red[x].coupling;
      if (k.out_axis < 0) continue;
      const std::string& name = c_.red[x].name;
      const bool transposed = k.r_mul < 0;
      for (const std::int64_t dilation : {1, 2, 3, 4}) {
        if (dilation == std::abs(k.r_mul) || c_.red[x].size == 1) continue;
        add("wrong_dilation",
            fmt::format("dilation {} along {} in place of {}", dilation, name, std::abs(k.r_mul)),
            [&](Contraction& m) {
              m.red[x].coupling.r_mul = transposed ? -dilation : dilation;
              return true;
            });
      }
      for (const std::int64_t stride : {1, 2, 3, 4}) {
        if (stride == (transposed ? k.divisor : k.o_mul)) continue;
        add("wrong_stride",
            fmt::format("stride {} along {} in place of {}", stride, name, transposed ? k.divisor : k.o_mul),
            [&](Contraction& m) {
              (transposed ? m.red[x].coupling.divisor : m.red[x].coupling.o_mul) = stride;
              return true;
            });
      }
      for (const std::int64_t by : {1, -1, 2, -2, 3, -3, 4, -4}) {
        const std::string what =
            by == 1 || by == -1
                ? fmt::format("the input is read {} position {} along {} (padding or window off by one)", 1,
                              by > 0 ? "further" : "back", name)
                : fmt::format("the input is read {} positions {} along {} (wrong padding)", std::abs(by),
                              by > 0 ? "further" : "back", name);
        add(by == 1 || by == -1 ? "shift_by_one" : "wrong_padding", what, [&](Contraction& m) {
          m.red[x].coupling.offset += by;
          return true;
        });
      }
      if (k.offset != 0)
        add("padding_ignored", "padding along " + name + " is ignored", [&](Contraction& m) {
          m.red[x].coupling.offset = 0;
          return true;
        });
      add("dropped_edge", "the last input position along " + name + " is never read",
          [&](Contraction& m) { return --m.red[x].coupling.extent > 0; });
      add("dropped_edge", "the first input position along " + name + " is never read", [&](Contraction& m) {
        // Coordinates from 1 on: the base moves up by one, the coordinate down.
        m.a_offset += k.a_stride;
        m.red[x].coupling.offset -= k.divisor;
        return --m.red[x].coupling.extent > 0;
      });
    }
  }

  // The same mistake along every spatial axis at once, and data moved by one place inside the tensor.
  void geometry_of_all() {
    std::vector<std::size_t> coupled;
    for (std::size_t x = 0; x < c_.red.size(); ++x)
      if (c_.red[x].coupling.out_axis >= 0) coupled.push_back(x);
    if (coupled.size() > 1) {
      for (const std::int64_t dilation : {1, 2, 3, 4})
        add("wrong_dilation", fmt::format("dilation {} along every spatial axis", dilation),
            [&](Contraction& m) {
              bool changed = false;
              for (const std::size_t x : coupled) {
                Coupling& k = m.red[x].coupling;
                changed |= std::abs(k.r_mul) != dilation && m.red[x].size > 1;
                k.r_mul = k.r_mul < 0 ? -dilation : dilation;
              }
              return changed;
            });
      for (const std::int64_t by : {1, -1, 2, -2})
        add(std::abs(by) == 1 ? "shift_by_one" : "wrong_padding",
            fmt::format("the input is read {} further along every spatial axis", by), [&](Contraction& m) {
              for (const std::size_t x : coupled) m.red[x].coupling.offset += by;
              return true;
            });
      add("padding_ignored", "padding is ignored along every spatial axis", [&](Contraction& m) {
        bool changed = false;
        for (const std::size_t x : coupled) {
          changed |= m.red[x].coupling.offset != 0;
          m.red[x].coupling.offset = 0;
        }
        return changed;
      });
    }
    for (const std::size_t x : coupled) {
      add("shift_by_one",
          "the input is read one position further along " + c_.red[x].name + ", zeros at its end",
          [&](Contraction& m) {
            m.a_offset += m.red[x].coupling.a_stride;
            return --m.red[x].coupling.extent > 0;
          });
      add("shift_by_one",
          "the input is read one position back along " + c_.red[x].name + ", zeros at its start",
          [&](Contraction& m) {
            m.red[x].coupling.offset -= m.red[x].coupling.divisor;
            return --m.red[x].coupling.extent > 0;
          });
    }
  }

  void channels() {
    for (std::size_t x = 0; x < c_.out.size(); ++x) {
      if (c_.out[x].name != "g" || c_.out[x].size == 1) continue;
      add("groups_ignored", "every group reads the first group's input channels", [&](Contraction& m) {
        m.out[x].a_stride = 0;
        return true;
      });
      add("groups_ignored", "every group uses the first group's weights", [&](Contraction& m) {
        m.out[x].b_stride = 0;
        return true;
      });
      // Channels interleaved over groups instead of in runs.
      for (std::size_t r = 0; r < c_.red.size(); ++r)
        if (c_.red[r].name == "c" && c_.red[r].size > 1)
          add("groups_ignored", "input channels are dealt to the groups in turn instead of in runs",
              [&](Contraction& m) {
                m.out[x].a_stride = c_.red[r].a_stride;
                m.red[r].a_stride = c_.red[r].a_stride * c_.out[x].size;
                return true;
              });
    }
    for (std::size_t x = 0; x < c_.out.size(); ++x)
      if (c_.out[x].name == "n" && c_.out[x].size > 1 && c_.out[x].a_stride != 0) {
        add("batch_ignored", "every image reads the first image's input", [&](Contraction& m) {
          m.out[x].a_stride = 0;
          return true;
        });
      }
  }

  // The input's memory read in another order of axes: NHWC read as NCHW, a matrix transposed.
  void layouts() {
    std::int64_t channels = 0, channel_stride = 0;
    std::size_t c_axis = c_.red.size();
    for (std::size_t r = 0; r < c_.red.size(); ++r)
      if (c_.red[r].name == "c") c_axis = r, channel_stride = c_.red[r].a_stride;
    if (c_axis < c_.red.size() && !problem_.a.empty()) {
      channels = problem_.a.size() > 1 ? problem_.a[1] : 0;
      add("input_layout", "the input's memory is read as if channels were innermost (NHWC against NCHW)",
          [&](Contraction& m) {
            if (channels < 2) return false;
            for (RedAxis& r : m.red) {
              if (r.coupling.out_axis >= 0) r.coupling.a_stride *= channels;
              if (r.name == "c") r.a_stride = 1;
            }
            for (OutAxis& o : m.out)
              if (o.name == "g") o.a_stride = o.a_stride / channel_stride;
            return true;
          });
      add("output_layout", "the output's memory is written with channels innermost (NHWC against NCHW)",
          [&](Contraction& m) { return channels_innermost(m); });
    }
    for (RedAxis const& r : c_.red) {
      if (r.name != "k" || c_.red.size() != 1) continue;
      // gemm: [M, K] memory read as [K, M]
      add("transposed_input", "the first matrix is read transposed", [&](Contraction& m) {
        for (OutAxis& o : m.out)
          if (o.a_stride != 0 && o.name == "i") {
            const bool rows = o.a_stride != 1;
            o.a_stride = rows ? 1 : c_.red[0].size;
            m.red[0].a_stride = rows ? o.size : 1;
            return true;
          }
        return false;
      });
      add("transposed_output", "the output is written transposed", [&](Contraction& m) {
        std::size_t i = m.out.size(), j = i;
        for (std::size_t x = 0; x < m.out.size(); ++x)
          (m.out[x].name == "i" ? i : m.out[x].name == "j" ? j : i) = x;
        if (i >= m.out.size() || j >= m.out.size() || m.out[i].name != "i" || m.out[i].size != m.out[j].size)
          return false;
        std::swap(m.out[i], m.out[j]);
        return true;
      });
    }
  }

  // out[n, p, m] in memory where [n, m, p] belongs: only for one spatial axis' worth of equal extents can it
  // stay a linear map, so it is tried where channels and the last axis have one size.
  static bool channels_innermost(Contraction& m) {
    std::size_t ch = m.out.size();
    for (std::size_t x = 0; x < m.out.size(); ++x)
      if (m.out[x].name == "m") ch = x;
    const std::size_t last = m.out.size() - 1;
    if (ch >= last || m.out[ch].size != m.out[last].size) return false;
    for (std::size_t x = ch + 1; x < last; ++x)
      if (m.out[x].size != 1) return false;
    std::swap(m.out[ch], m.out[last]);
    for (RedAxis& r : m.red) {
      if (r.coupling.out_axis == static_cast<int>(ch))
        r.coupling.out_axis = static_cast<int>(last);
      else if (r.coupling.out_axis == static_cast<int>(last))
        r.coupling.out_axis = static_cast<int>(ch);
    }
    return true;
  }

  // Outputs or weights one place along.
  void shifts() {
    for (std::size_t x = 0; x < c_.out.size(); ++x) {
      const OutAxis& o = c_.out[x];
      if (o.size < 2) continue;
      for (const std::int64_t by : {1, -1}) {
        if (o.b_stride != 0)
          add("shifted_weight",
              fmt::format("the weight is read one {} {} along {}", o.name, by > 0 ? "further" : "back",
                          o.name),
              [&](Contraction& m) {
                m.b_offset += by * o.b_stride;
                return true;
              });
        if (o.a_stride != 0)
          add("shifted_input",
              fmt::format("the input is read one {} {} along {}", o.name, by > 0 ? "further" : "back",
                          o.name),
              [&](Contraction& m) {
                m.a_offset += by * o.a_stride;
                return true;
              });
      }
    }
    for (std::size_t x = 0; x < c_.red.size(); ++x)
      for (const std::int64_t by : {1, -1}) {
        if (c_.red[x].b_stride != 0 && c_.red[x].size > 1)
          add("shifted_weight",
              fmt::format("the weight is read one place {} along {}", by > 0 ? "further" : "back",
                          c_.red[x].name),
              [&](Contraction& m) {
                m.b_offset += by * c_.red[x].b_stride;
                return true;
              });
        if (c_.red[x].a_stride != 0 && c_.red[x].size > 1)
          add("shifted_input",
              fmt::format("the input is read one place {} along {}", by > 0 ? "further" : "back",
                          c_.red[x].name),
              [&](Contraction& m) {
                m.a_offset += by * c_.red[x].a_stride;
                return true;
              });
      }
  }

  void other_parameters() {
    if (c_.has_bias) {
      add("missing_bias", "the bias is not added", [&](Contraction& m) {
        m.has_bias = false;
        return true;
      });
    }
    if (c_.divisor != 1)
      add("missing_division", "the sum is not divided", [&](Contraction& m) {
        m.divisor = 1;
        return true;
      });
  }

  const Problem& problem_;
  const Contraction& c_;
  std::vector<Mutant> all_;
};

}  // namespace

bool stays_inside(const Contraction& c) {
  Reach a, b;
  a.low = a.high = c.a_offset;
  b.low = b.high = c.b_offset;
  for (const OutAxis& o : c.out) {
    a.add(o.a_stride, o.size);
    b.add(o.b_stride, o.size);
  }
  for (const RedAxis& r : c.red) {
    a.add(r.a_stride, r.size);
    b.add(r.b_stride, r.size);
    if (r.coupling.out_axis >= 0) {
      if (r.coupling.extent < 1 || r.coupling.divisor < 1) return false;
      a.add(r.coupling.a_stride, r.coupling.extent);
    }
  }
  return a.low >= 0 && a.high < c.a_size && (c.b_is_ones || (b.low >= 0 && b.high < c.b_size));
}

std::vector<Mutant> mutants_of(const Problem& problem, const Contraction& c) {
  return Maker(problem, c)();
}

}  // namespace ulpscope
