// ulpscope import CASE: a capture of what another program dumped.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/import_dump.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  DumpedCall call;
  std::string mode = "fp32", path;
};

const RegisterCommand registered{
    12, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command = app.add_subcommand(
          "import", "Make a capture of another program's dumped tensors, for ulpscope judge");
      DumpedCall& c = a->call;
      command
          ->add_option(
              "CASE", c.case_text,
              "Operator, shapes, formats: 'conv2d 1x64x1x512 * 128x64x1x1 p0 out=fp32 atol=1e-4 rtol=1e-4'")
          ->required();
      command->add_option("--input", c.a, "First operand: FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME");
      command->add_option("--weight", c.b, "Second operand, in PyTorch's layout");
      command->add_option("--bias", c.bias, "Bias");
      command->add_option("--output", c.output, "The result");
      command->add_option("--repeat", c.repeat, "The same call's result once more");
      command->add_option("--output-slice", c.slice,
                          "Part of the output that was dumped: FROM:TO per spatial axis");
      command->add_option("--mode", a->mode,
                          "What it promised: fp32, tf32, strict, bf16, fp16 (default fp32)");
      command->add_option("--name", c.name, "Name of the case in records");
      command->add_option("--variant", c.variant, "Name of the implementation (default dump)");
      command->add_option("--plan", c.plan, "Its declared plan");
      command->add_option("--device", c.device, "Where it ran");
      command->add_option("--engine", c.engine, "What the library calls the engine");
      command->add_option("--note", c.notes, "Numerical notes: WINOGRAD, FFT, NONDETERMINISTIC, ...");
      command->add_option("--to", a->path, "The capture to write (.npz)")->required()->check(written_file());
      command->callback([a, &exit_code] {
        a->call.mode = parse_mode(a->mode);
        const Capture capture = import_dump(a->call);
        write_capture(a->path, capture);
        std::printf("capture: %s\n", a->path.c_str());
        exit_code = 0;
      });
    }};

}  // namespace
}  // namespace ulpscope
