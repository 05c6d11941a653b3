#pragma once
// A record (schema "ulpscope.run/1") as its readers see it: plain structs. Fields that are absent or null
// have no value ("" for texts); unknown fields stay in `raw`.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/read_json.hpp"
#include "harness/verdict.hpp"

namespace ulpscope {

/// Errors are result - true value. ULP are of the output format at the true value; scaled is |error| / (2^-24
/// S); headroom is the largest |error| / bound.
struct ErrorView {
  std::optional<double> max_abs, mean_abs, mean_signed, max_ulp, p50_ulp, p99_ulp, p999_ulp, max_scaled;
  std::optional<double> headroom;
  std::int64_t beyond_bound = 0, unbounded = 0, equal_bits = 0;
  std::int64_t nonfinite = 0, nonfinite_mismatch = 0, zero_sign_mismatch = 0;
  std::optional<std::int64_t> violations;  // of atol and rtol
  std::optional<double> atol, rtol;

  struct Worst {  // the output with the largest scaled error
    std::int64_t index = 0, terms = 0;
    std::vector<std::int64_t> coordinates;
    std::optional<double> candidate, exact, error, ulp, magnitude, condition;
  };
  std::optional<Worst> worst;

  struct Bin {  // outputs whose |ULP| lies above the bin before and not above `up_to`
    double up_to = 0;
    std::int64_t outputs = 0;
  };
  std::vector<Bin> ulp_histogram;

  struct Terms {  // outputs with this many terms: an edge has fewer
    std::int64_t terms = 0, outputs = 0;
    std::optional<double> max_abs, max_scaled;
  };
  std::vector<Terms> by_terms;
  std::int64_t channels_per_group = 0;  // 0: no channels
  std::vector<double> channel_max_abs, channel_max_scaled;
  std::vector<double> position_max_scaled;  // by position on the innermost axis modulo its length
};

/// One case, variant and mode.
struct ResultView {
  std::string test, case_text, op, variant, source, mode, effective_mode;
  std::string executed;  // "device", "host", "replay", "recorded"; "" if it did not run
  Verdict verdict = Verdict::error;
  std::string reason;
  bool excused = false;  // declared nondeterminism within its spread bound
  std::int64_t outputs = 0, judged_outputs = 0;
  std::string declared_plan, plan, operands;  // plan: one whose replay gives every compared bit
  std::optional<double> bit_identical;        // share of the replayed outputs
  std::int64_t replayed_outputs = 0;
  std::optional<bool> whole_output_replayed, runs_identical;
  std::optional<bool> batch_identical;  // the same bits in several batch sizes and positions
  std::string batch_not_applicable;     // why no other batch could be tried
  std::int64_t runs_differing = 0;
  std::optional<ErrorView> error;
  std::optional<double> bound, expected_max;
  std::string bound_formula, input_hash, output_hash, engine;
  std::vector<std::string> notes;
  std::int64_t workspace_bytes = 0;
  std::string reproduce;            // a command line
  std::optional<double> device_ms;  // from the record's `timings`

  std::string key() const { return test + " / " + variant + " / " + mode; }
};

struct EnvironmentView {
  std::string version, commit, started;
  bool dirty = false;
  std::vector<std::string> argv;
  std::string host, cpu, os, compiler;
  std::string device;          // "" where there was none
  std::string device_missing;  // why
  std::string compute_capability;
  struct Part {
    std::string name, what;
  };
  std::vector<Part> parts;  // the GPUs and processes that shared the cases, the hosts of merged records
  std::map<std::string, std::string> libraries;  // name: version; "cudnn_missing": why
  std::map<std::string, std::string> variables;  // that change arithmetic
};

struct RecordView {
  std::string name;  // of the file
  EnvironmentView environment;
  std::vector<ResultView> results;            // as in the file: by case, variant, mode
  std::shared_ptr<const nlohmann::json> raw;  // the whole document; results[i] is raw["results"][i]
};

/// Throws Error, one line, on anything but a record of this schema; `name` is what messages call it. `raw`
/// lacks what is at `unread`.
RecordView parse_record_view(std::string_view text, const std::string& name,
                             const std::vector<JsonPlace>& unread = {});
RecordView read_record_view(const std::string& path, const std::vector<JsonPlace>& unread = {});

/// `cases` and the results' `explanation`: what only a page shows, and more than half of a record.
const std::vector<JsonPlace>& explaining_places();

/// Failures in the sense of the exit code; an excused nondeterminism is none, and neither passes nor skips
/// are.
bool fails(const ResultView& result);

/// Counts by verdict, and what they add up to.
struct VerdictTally {
  std::array<std::int64_t, 10> by_verdict{};  // indexed by Verdict
  std::int64_t passed = 0, failed = 0, excused = 0, neither = 0, errors = 0;
  int exit_code = 3;
  std::int64_t of(Verdict v) const { return by_verdict[static_cast<std::size_t>(v)]; }
};
VerdictTally tally(const RecordView& record);

}  // namespace ulpscope
