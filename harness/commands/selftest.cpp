// ulpscope self-test: plant mistakes; each must be caught.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/selftest/selftest.hpp"

namespace ulpscope {
namespace {

const RegisterCommand registered{
    90, [](CLI::App& app, int& exit_code) {
      auto json = std::make_shared<std::string>();
      CLI::App* command = app.add_subcommand(
          "self-test", "Plant mistakes in data and in this tool's parts; each must be caught");
      command->add_option("--json", *json, "Write what was planted and what noticed it here")
          ->check(written_file());
      command->callback([json, &exit_code] {
        const auto outcomes = selftest::run_plants(selftest::all_plants());
        std::fputs(selftest::render_outcomes(outcomes).c_str(), stdout);
        if (!json->empty())
          write_text(*json, selftest::to_json(outcomes).dump(1, ' ', false,
                                                             nlohmann::json::error_handler_t::replace) +
                                "\n");
        const bool good = std::all_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.good; });
        exit_code = good ? 0 : 1;
      });
    }};

}  // namespace
}  // namespace ulpscope
