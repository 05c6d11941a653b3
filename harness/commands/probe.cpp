// ulpscope probe: what a device, its libraries and our variants do to numbers, and in which order.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "harness/command_line.hpp"
#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/environment.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/probe/problems.hpp"
#include "harness/probe/report.hpp"
#include "harness/progress.hpp"
#include "kernels/support/device_info.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kSecondsForAll = 420, kNoLimit = 1'000'000'000;

struct Arguments {
  std::vector<std::string> cases, variants, modes;
  std::string op, shape, folder = "cases", json, device = "auto";
  std::int64_t launches = 16, seconds = 0;
  int threads = 0;
  bool all = false, compare_declared = false;
};

/// "ours" and "vendor" select by who wrote it; everything else is a name or glob.
bool take_word(std::vector<std::string>& names, const std::string& word) {
  return std::erase(names, word) > 0;
}

struct Work {
  Case test;
  Job job;
};

/// 16-bit data is asked about in the mode of its format: other modes do the same to it.
bool suits(const Case& test, Mode mode) {
  if (test.in == DType::bf16) return mode == Mode::bf16;
  if (test.in == DType::f16) return mode == Mode::fp16;
  return true;
}

std::vector<Work> work_of(const std::vector<Case>& cases, Arguments& a, RunOptions options,
                          const std::string& no_cuda) {
  const bool ours = take_word(options.variants, "ours"), vendor = take_word(options.variants, "vendor");
  if (!(ours || vendor) || !options.variants.empty()) check_selection(cases, options);
  std::vector<Work> work;
  for (const Case& given : cases) {
    const Case test = probe_size(given);
    for (const Job& job : jobs_of(test, options, no_cuda)) {
      if ((ours || vendor) && options.variants.empty() && !(job.variant->vendor ? vendor : ours)) continue;
      if (a.all && !suits(test, job.mode)) continue;
      if (a.compare_declared && job.skip.empty() && job.variant->plan(test.problem, job.mode).empty())
        continue;
      work.push_back({test, job});
    }
  }
  if (work.empty())
    throw Error(
        "nothing to probe: no variant of these cases fits the given --variant, --mode and --device "
        "(ulpscope list shows what there is)");
  return work;
}

ProbedVariant skipped(const Work& w) {
  ProbedVariant p;
  p.test = w.test;
  p.variant = w.job.variant->name;
  p.source = w.job.variant->source;
  p.vendor = w.job.variant->vendor;
  p.mode = w.job.mode;
  p.status = "skipped";
  p.reason = w.job.skip;
  return p;
}

void probe_device(ProbeReport& report) {
  const DeviceInfo& device = device_info();
  report.device = device.name + ", compute capability " + std::to_string(device.cc_major) + "." +
                  std::to_string(device.cc_minor);
  const DeviceArithmetic& arithmetic = device_arithmetic();
  report.steps = arithmetic.steps;
  report.agrees = arithmetic.agrees;
  report.why = arithmetic.why;
}

std::vector<Case> cases_of(const Arguments& a) {
  if (a.all) {
    if (!a.cases.empty() || !a.op.empty())
      throw Error("--all chooses its own problems: leave out CASE and --op");
    return probe_problems();
  }
  std::vector<Case> cases;
  if (!a.cases.empty()) cases = cases_named(a.cases, a.folder);
  if (a.op.empty() != a.shape.empty())
    throw Error("--op and --shape go together: --op gemm --shape '64x96 * 96x80'");
  if (!a.op.empty()) cases.push_back(parse_case(a.op + " " + a.shape));
  return cases;
}

int run(Arguments& a) {
  RunOptions options;
  options.variants = a.variants;
  for (const std::string& mode : a.modes) options.modes.push_back(parse_mode(mode));
  options.device = choice<DeviceChoice>(
      "--device", a.device,
      {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}});
  const std::vector<Case> cases = cases_of(a);
  std::string no_cuda, reason;
  std::unique_ptr<Executor> cuda;
  if (options.device != DeviceChoice::cpu) cuda = make_executor(Where::cuda, no_cuda);
  if (options.device == DeviceChoice::cuda && !cuda) throw Error("--device cuda: " + no_cuda);
  if (cases.empty() && !cuda)
    throw Error("say what to probe: cases by name, file, tag or text, --op with --shape, or --all" +
                (no_cuda.empty() ? "" : " (no device to probe: " + no_cuda + ")"));

  ProbeReport report;
  report.environment = describe_environment(command_line());
  report.compare_declared = a.compare_declared;
  Progress progress;
  if (cuda) probe_device(report);
  const auto save = [&] {
    if (!a.json.empty()) write_text(a.json, to_json(report).dump(1) + "\n");
  };
  save();
  if (!cases.empty()) {
    const std::vector<Work> work = work_of(cases, a, options, no_cuda);
    const std::unique_ptr<Executor> host = make_executor(Where::host, reason);
    VariantProbeOptions probing;
    probing.max_launches = a.launches;
    probing.threads = a.threads;
    probing.sm = cuda ? 10 * device_info().cc_major + device_info().cc_minor : 0;
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::seconds most(a.seconds > 0 ? a.seconds : a.all ? kSecondsForAll : kNoLimit);
    for (Work w : work) {
      if (w.job.skip.empty() && std::chrono::steady_clock::now() - start > most)
        w.job.skip = "the time for this probe was used up: give --seconds more, or choose with --variant";
      progress.say("probing " + w.job.variant->name + " in " + to_string(w.job.mode) + ": " +
                   to_string(w.test.problem));
      const bool on_device = w.job.variant->where == Where::cuda;
      report.targets.push_back(!w.job.skip.empty()
                                   ? skipped(w)
                                   : probe_variant(on_device ? *cuda : *host, w.job, w.test, probing));
      if (w.job.skip.empty()) save();  // a long probe that is killed leaves what it found
    }
    save();
  }
  std::fputs(render_probe(report).c_str(), stdout);
  if (!a.json.empty()) std::printf("report: %s\n", a.json.c_str());
  return exit_code_of(report);
}

const RegisterCommand registered{
    50, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command = app.add_subcommand(
          "probe", "What a device, its libraries and variants do to numbers, and in which order");
      command->add_option("CASE", a->cases, "Cases by name, glob, file or tag, or a case's text");
      command->add_option("--op", a->op, "An operator, with --shape");
      command->add_option("--shape", a->shape, "Operand shapes and parameters: '64x96 * 96x80'");
      command->add_option("--variant", a->variants,
                          "Only variants of these names (globs), 'ours' or 'vendor'");
      command->add_option("--mode", a->modes, "Only these modes: fp32, tf32, strict, bf16, fp16");
      command->add_option("--device", a->device, "auto, cpu or cuda (default auto)");
      command->add_option("--threads", a->threads, "Host threads (default: all cores)")
          ->check(CLI::Range(1, 4096));
      command->add_option("--launches", a->launches, "Launches for each variant and mode (default 16)")
          ->check(CLI::Range(8, 100000));
      command->add_option("--seconds", a->seconds, "Start no further probe after this long (--all: 420)")
          ->check(CLI::Range(1, 1'000'000));
      command->add_flag("--all", a->all, "Every variant and mode on small problems of many operators");
      command->add_flag("--compare-declared", a->compare_declared,
                        "Compare with declared plans; exit 1 where one differs");
      command->add_option("--json", a->json, "Write the report here")->check(written_file());
      command->add_option("--cases", a->folder, "Folder or file of cases (default: cases)");
      command->callback([a, &exit_code] { exit_code = run(*a); });
    }};

}  // namespace
}  // namespace ulpscope
