#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/error.hpp"
#include "reports/testing.hpp"

namespace ulpscope::testing_reports {
namespace {

using nlohmann::json;

json environment() {
  return {{"version", "0.1.0"},
          {"commit", "0123456789"},
          {"dirty", true},
          {"argv", {"ulpscope", "run", "it's", "a b"}},
          {"started", "2026-01-02T03:04:05Z"},
          {"host", {{"name", "h"}, {"cpu", "c"}, {"os", "o"}}},
          {"device", {{"available", true}, {"name", "<Device> | & \"1\""}, {"compute_capability", "9.0"}}},
          {"libraries", {{"cudnn", "9.14.0"}}},
          {"variables", json::object()}};
}

json row(const std::string& test, const std::string& variant, const std::string& verdict) {
  return {{"case", test},
          {"case_text", "gemm 2x2 * 2x2"},
          {"op", "gemm"},
          {"variant", variant},
          {"source", "kernels/gemm/" + variant + ".cu"},
          {"mode", "fp32"},
          {"effective_mode", "fp32"},
          {"executed", "device"},
          {"outputs", 100},
          {"judged_outputs", 100},
          {"verdict", verdict},
          {"reason", "because"},
          {"excused", false},
          {"declared_plan", "fp32 | fma"},
          {"plan", "fp32 | fma"},
          {"operands", "fp32"},
          {"bit_identical", 1.0},
          {"runs_identical", true},
          {"runs_differing", 0},
          {"bound", 1e-5},
          {"expected_max", 2e-6},
          {"bound_formula", "u*S"},
          {"input_hash", std::string(32, 'a')},
          {"output_hash", std::string(32, 'b')},
          {"engine", nullptr},
          {"notes", json::array()},
          {"workspace_bytes", 0},
          {"reproduce", "ulpscope run 'gemm 2x2 * 2x2' --variant " + variant}};
}

json figures(double error) {
  json f{{"max_abs", error},
         {"mean_abs", error / 8},
         {"mean_signed", -error / 99},
         {"max_ulp", 9.0},
         {"p50_ulp", 0.5},
         {"p99_ulp", 4.0},
         {"p999_ulp", 8.0},
         {"max_scaled", 3.0},
         {"headroom", error / 1e-5},
         {"beyond_bound", 0},
         {"unbounded", 0},
         {"equal_bits", 40},
         {"nonfinite", 0},
         {"nonfinite_mismatch", 0},
         {"zero_sign_mismatch", 0},
         {"violations", 0},
         {"atol", 1e-4},
         {"rtol", 1e-4}};
  f["worst"] = {{"index", 3}, {"coordinates", {1, 1}}, {"candidate", 1.0}, {"exact", 1.5}, {"error", -0.5},
                {"ulp", 9.0}, {"magnitude", 2.0},      {"condition", 1.5}, {"terms", 2}};
  f["ulp_histogram"] = json::array();
  f["strata"] = {{"terms", {{{"terms", 2}, {"outputs", 100}, {"max_abs", error}, {"max_scaled", 3.0}}}},
                 {"channel", nullptr},
                 {"position", {{"modulo", 64}, {"max_scaled", json::array()}}}};
  std::uint32_t state = 12345;  // any numbers will do, the same ones each time
  for (int i = 0; i < 64; ++i) {
    state = state * 1664525u + 1013904223u;
    f["strata"]["position"]["max_scaled"].push_back(1 + (state >> 20) / 2048.0);
    if (i < 20) f["ulp_histogram"].push_back({{"up_to", 0.001 * (1 << i)}, {"outputs", 1 + (state >> 22)}});
  }
  return f;
}

json whole(const json& results) {
  return {{"schema", "ulpscope.run/1"},
          {"environment", environment()},
          {"results", results},
          {"timings", json::array()}};
}

}  // namespace

std::string nasty_record() {
  json results = json::array();
  for (const char* verdict : {"identical", "explained", "bounded", "violated", "structural",
                              "nondeterministic", "unexplained", "vacuous", "skipped", "error"}) {
    json r = row("case/one", std::string("v_") + verdict, verdict);
    r["error"] = figures(1e-6);
    if (std::string(verdict) == "skipped" || std::string(verdict) == "error") {
      r["error"] = r["bound"] = r["expected_max"] = r["runs_identical"] = r["output_hash"] = nullptr;
      r["executed"] = nullptr;
      r["judged_outputs"] = 0;
    }
    results.push_back(r);
  }
  json r = row("case/two <b>|`x`\n\"q\", ]]>", "it's | <i>&amp;", "violated");
  r["reason"] = "a | b `c` <script>alert(1)</script>\r\nline two, \"quoted\" @someone \x01 ]]> \\";
  r["error"] = figures(3e-5);
  r["error"]["max_abs"] = r["error"]["headroom"] = "inf";
  results.push_back(r);
  r = row("case/two", "atomics", "nondeterministic");
  r["excused"] = true;
  r["runs_identical"] = false;
  r["error"] = figures(1e-6);
  results.push_back(r);
  r = row("case/two", "never_judged", "bounded");
  r["error"] = nullptr;
  r["judged_outputs"] = 0;
  results.push_back(r);
  r = row("case/two", "stand_in", "explained");
  r["executed"] = "replay";
  r["error"] = figures(1e-6);
  results.push_back(r);
  return whole(results).dump();
}

std::string large_record(int n) {
  json results = json::array();
  for (int i = 0; i < n; ++i) {
    json r = row("suite/case_" + std::to_string(i / 10), "variant_" + std::to_string(i % 10),
                 i % 97 == 13 ? "violated" : "bounded");
    r["error"] = figures(1e-7 * (1 + i % 89));
    r["reason"] = "largest error is some part of its bound";
    results.push_back(r);
  }
  return whole(results).dump();
}

std::string explained_record() {
  const json ladder{{{"rung", "deterministic"}, {"status", "excluded"}, {"note", "two runs, the same bits"}},
                    {{"rung", "operands fp32"},
                     {"status", "confirmed"},
                     {"note", "within what `fma` can <b>leave</b>"},
                     {"max_residual", 3e-7},
                     {"mean_residual", 1e-8},
                     {"equal_bits", 0.25}},
                    {{"rung", "plan"}, {"status", "not tested"}, {"note", "none is declared"}}};
  json results = json::array();
  auto add = [&](const std::string& variant, const std::string& plan, const std::string& operands,
                 const std::string& bits, char hash) {
    json r = row("case/why", variant, "explained");
    r["case_text"] = "gemm 4x6 * 6x3 in=fp32 out=fp32";
    r["plan"] = plan;
    r["declared_plan"] = variant == "library" ? json() : json(plan);
    r["output_hash"] = std::string(32, hash);
    r["error"] = figures(operands == "fp32" ? 2e-7 : 3e-4);
    r["explanation"] = {{"outputs", 3},
                        {"ranges", {{0, 2}, {11, 1}}},
                        {"bits", bits},
                        {"operands", operands},
                        {"operands_input", operands},
                        {"operands_weight", operands},
                        {"operands_fit", {operands}},
                        {"input_fit", {operands}},
                        {"weight_fit", {operands}},
                        {"parts", ""},
                        {"cause", operands == "fp32" ? "accumulator" : "candidate_precision"},
                        {"cause_why", "because of `" + plan + "`"},
                        {"ladder", ladder}};
    results.push_back(r);
  };
  // 1, 2, 4; the library's second output is 2 + 2^-12.
  add("kernel", "fp32 | fma", "fp32", "3f8000004000000040800000", 'a');
  add("library", "tf32_rna | block 8 frac 25 rz", "tf32_rna", "3f8000004000040040800000", 'b');
  add("twin", "fp32 | fma", "fp32", "3f8000004000000040800000", 'a');
  json record = whole(results);
  const auto plan_row = [](const char* arithmetic, const char* plan, double error) {
    return json{{"arithmetic", arithmetic}, {"plan", plan},  {"max_abs", error},  {"mean_abs", error / 8},
                {"mean_signed", -1e-9},     {"bound", 1e-5}, {"from_first", 1e-7}};
  };
  record["cases"] = {
      {{"case", "case/why"},
       {"input_hash", std::string(32, 'a')},
       {"drift",
        {{"looked_at", 12},
         {"summary", "Order cannot account for it."},
         {"rows",
          {plan_row("fp32 fma", "fp32 | fma", 2e-7), plan_row("fp32 fma", "fp32 | fma | pairwise", 1e-7),
           plan_row("tf32_rna tensor core", "tf32_rna | block 8 frac 25 rz", 3e-4)}},
         {"spreads", {{{"arithmetic", "fp32 fma"}, {"orders", 2}, {"observed", 1e-7}, {"bound", 1e-6}}}}}}}};
  return record.dump();
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw Error("cannot read " + path);
  return text.str();
}

Ran ran(const std::string& command) {
  Ran result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw Error("cannot run " + command);
  std::array<char, 4096> part;
  for (std::size_t got; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    result.output.append(part.data(), got);
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return result;
}

std::string fresh_folder(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ulpscope-" + name + "-" + std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "'" : " '";
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

}  // namespace ulpscope::testing_reports
