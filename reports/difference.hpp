#pragma once
// Two records of the same work: what changed between them, and why as far as the records tell.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/record_view.hpp"

namespace ulpscope {

struct Change {
  std::string what, before, after;  // "bits", "plan", "max_scaled"; of the environment: "cudnn", "device"
};

struct ResultChange {
  enum class Kind { changed, added, removed } kind = Kind::changed;
  std::string test, variant, mode;
  std::vector<Change> changes;
  bool bits = false;        // the output hash is another
  bool only_order = false;  // ... and two known plans differ in their order alone
  std::string explanation;  // of changed bits, one sentence; "" if they did not change
};

struct Difference {
  std::vector<Change> environment;    // version, commit, device, libraries, variables
  std::vector<ResultChange> results;  // in the order of case, variant, mode
  std::int64_t unchanged = 0;
};

Difference difference(const RecordView& before, const RecordView& after);

/// What a plan says beside order and partial sums: two plans of one arithmetic differ by order alone.
std::string arithmetic_of(const std::string& plan);

std::string render_difference(const Difference& d, std::size_t most_results = 100);
nlohmann::json to_json(const Difference& d);

}  // namespace ulpscope
