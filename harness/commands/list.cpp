// ulpscope list: cases, variants and modes, with the reason where something cannot run here.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "harness/command_line.hpp"
#include "harness/commands.hpp"
#include "harness/run.hpp"
#include "kernels/vendor/vendor.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  std::string what = "all", folder = "cases", op;
  std::vector<std::string> engines;
  bool device = false;
};

void list_cases(const std::string& folder, const std::string& op) {
  const std::vector<Case> cases = load_cases(folder);
  std::size_t widest = 0;
  for (const Case& c : cases) widest = std::max(widest, c.name.size());
  std::printf("cases (%zu in %s)\n", cases.size(), folder.c_str());
  for (const Case& c : cases) {
    if (!op.empty() && c.problem.params.op != op) continue;
    std::string tags;
    for (const std::string& tag : c.tags) tags += (tags.empty() ? "  [" : " ") + tag;
    std::printf("  %-*s  %s%s%s\n", static_cast<int>(widest), c.name.c_str(), to_string(c).c_str(),
                tags.c_str(), tags.empty() ? "" : "]");
  }
}

void list_variants(const std::string& op) {
  std::string no_cuda;
  const bool cuda = make_executor(Where::cuda, no_cuda) != nullptr;
  std::size_t widest = 0;
  for (const Variant& v : variants()) widest = std::max(widest, v.name.size());
  std::printf("variants\n");
  std::string current;
  for (const Variant& v : variants()) {
    if (!op.empty() && v.op != op) continue;
    if (v.op != current) std::printf("  %s\n", (current = v.op).c_str());
    std::string modes;
    for (const Mode mode : v.modes) modes += (modes.empty() ? "" : ",") + std::string(to_string(mode));
    std::printf("    %-*s  %-4s  %-16s  %s%s\n", static_cast<int>(widest), v.name.c_str(),
                v.where == Where::cuda ? "cuda" : "host", modes.c_str(), v.summary.c_str(),
                v.deterministic ? "" : " (declares run-to-run differences)");
  }
  if (!cuda) std::printf("  CUDA variants are skipped here: %s\n", no_cuda.c_str());
}

void list_modes() {
  std::printf("modes\n");
  for (auto [mode, promise] : {std::pair{Mode::fp32, "no operand is shortened"},
                               {Mode::tf32, "operands may be rounded to TF32"},
                               {Mode::strict, "fp32, and the same bits run after run"},
                               {Mode::bf16, "operands are, or may be rounded to, BF16"},
                               {Mode::fp16, "operands are, or may be rounded to, FP16"}})
    std::printf("  %-6s  %s\n", to_string(mode), promise);
}

/// For scripts: exit 0 and the device's facts, or one line and exit 2.
void list_device() {
  std::string why;
  const auto executor = make_executor(Where::cuda, why);
  if (!executor) throw Error("no CUDA device: " + why);
  for (auto& [key, value] : executor->describe()) std::printf("%-20s %s\n", key.c_str(), value.c_str());
}

void list_engines(const std::vector<std::string>& names, const std::string& folder) {
  std::string why;
  if (!make_executor(Where::cuda, why)) throw Error("cuDNN's engines cannot be listed: " + why);
  for (const Case& c : cases_named(names, folder)) {
    std::printf("%s\n", to_string(c).c_str());
    for (const std::string& line : vendor::describe_cudnn_engines(c.problem, c.in, c.out))
      std::printf("  %s\n", line.c_str());
  }
}

int list(const Arguments& a) {
  if (!a.engines.empty()) {
    list_engines(a.engines, a.folder);
    return 0;
  }
  if (a.device) {
    list_device();
    return 0;
  }
  enum class What { all, cases, variants, modes };
  const What what = choice<What>(
      "WHAT", a.what,
      {{"all", What::all}, {"cases", What::cases}, {"variants", What::variants}, {"modes", What::modes}});
  if (!a.op.empty()) spatial_rank(a.op);  // throws Error for an unknown operator
  if (what == What::cases || (what == What::all && std::filesystem::exists(a.folder)))
    list_cases(a.folder, a.op);
  if (what == What::variants || what == What::all) list_variants(a.op);
  if (what == What::modes || what == What::all) list_modes();
  return 0;
}

const RegisterCommand registered{
    20, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command = app.add_subcommand("list", "Cases, variants and modes");
      command->add_option("WHAT", a->what, "cases, variants or modes (default: all)");
      command->add_option("--op", a->op, "Only of this operator");
      command->add_option("--cases", a->folder, "Folder or file of cases (default: cases)");
      command->add_flag("--device", a->device, "Only describe the CUDA device; exit 2 if there is none");
      command->add_option(
          "--engines", a->engines,
          "Only cuDNN's engines for these convolutions: notes, workspace, and whether a launch "
          "shows a transform");
      command->callback([a, &exit_code] { exit_code = list(*a); });
    }};

}  // namespace
}  // namespace ulpscope
