#pragma once
// What one run does: cases to run, captures to judge, orders to compare; whole, or one shard of it.
#include <string>
#include <vector>

#include "harness/run.hpp"
#include "harness/shard.hpp"

namespace ulpscope {

struct Selection {
  std::vector<Case> cases;
  std::vector<std::string> captures;  // files
  std::vector<Case> drift;
  std::size_t size() const { return cases.size() + captures.size() + drift.size(); }
};

/// Throws Error if that leaves the shard empty: there would be nothing to verify.
Selection dealt(const Shard& shard, const Selection& all);

/// What a shard's record says of the whole, so that merging misses none: {index, of, cases, selection}, the
/// last a hash of everything selected and of the settings.
nlohmann::json shard_note(const Shard& shard, const Selection& all, const std::vector<std::string>& settings);

/// Throws Error, before any work, if a result would be there twice: a capture that repeats what is run, or
/// another capture. Reads the captures.
void check_repeats(const Selection& selection, const RunOptions& options);

/// One record of everything. As check_repeats, first.
Record run_selection(const Selection& selection, const RunOptions& options);

}  // namespace ulpscope
