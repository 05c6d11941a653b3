#pragma once
// Records of shards, or of different work, put together: the same `results`, byte for byte, as of one run.
#include <string>
#include <vector>

#include "harness/record.hpp"

namespace ulpscope {

struct NamedRecord {
  std::string name;  // what messages call it
  Record record;
};

/// Throws Error, one line, if a shard is missing or there twice, if the shards are of different selections,
/// if a result is in two records, or if the environments differ in anything that may change a result
/// (version, commit, build, device, libraries, variables). Hosts and device numbers may differ.
Record merge_records(std::vector<NamedRecord> records);

/// The first thing that may change a result and differs between two environments: "device/name is A and B";
/// "" if there is none.
std::string environment_difference(const nlohmann::json& x, const nlohmann::json& y);

}  // namespace ulpscope
