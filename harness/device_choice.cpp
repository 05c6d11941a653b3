#include "harness/device_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "harness/command_line.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr int kMost = 1024;  // GPUs or processes of one host

/// A whole number from 0 to kMost; -1 for anything else.
int number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= kMost ? value : -1;
}

std::vector<int> gpus_of(const std::string& text, std::string_view list) {
  std::vector<int> gpus;
  for (;;) {
    const std::size_t comma = list.find(',');
    const int gpu = number(list.substr(0, comma));
    if (gpu < 0)
      throw Error(fmt::format("--device {}: name GPUs as in cuda:0,2, or all of them with cuda:all", text));
    if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end())
      throw Error(fmt::format("--device {}: GPU {} is named twice", text, gpu));
    gpus.push_back(gpu);
    if (comma == std::string_view::npos) return gpus;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

DeviceOption parse_device(const std::string& text) {
  if (text == "cuda:all") return {DeviceChoice::cuda, {true, {}, 0}};
  if (text.starts_with("cuda:")) return {DeviceChoice::cuda, {false, gpus_of(text, text.substr(5)), 0}};
  if (text.starts_with("cpu:")) {
    const int n = number(text.substr(4));
    if (n < 1)
      throw Error(fmt::format("--device {}: say how many processes, from 1 to {}, as in cpu:4", text, kMost));
    return {DeviceChoice::cpu, {false, {}, n}};
  }
  return {choice<DeviceChoice>(
              "--device", text,
              {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}}),
          {}};
}

}  // namespace ulpscope
