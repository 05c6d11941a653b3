#include "harness/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reference/counted.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;

std::string short_of(const json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text.empty() ? "''" : text;
}

/// What may change a result. Which of several equal devices, and which host it was in, may not.
json deciding(const json& environment) {
  json kept = without_places(environment);
  for (const char* key : {"argv", "started", "host", "shard"}) kept.erase(key);
  return kept;
}

/// "device/name: A in x.json, B in y.json" of the first difference; "" if there is none.
std::string first_difference(const json& x, const json& y, const std::string& at = "") {
  if (x == y) return "";
  if (!x.is_object() || !y.is_object()) return fmt::format("{} is {} and {}", at, short_of(x), short_of(y));
  std::set<std::string> keys;
  for (const json* side : {&x, &y})
    for (auto& [key, value] : side->items()) keys.insert(key);
  for (const std::string& key : keys) {
    const std::string found =
        first_difference(x.value(key, json()), y.value(key, json()), at.empty() ? key : at + "/" + key);
    if (!found.empty()) return found;
  }
  return "";
}

void check_shards(const std::vector<NamedRecord>& records) {
  std::map<std::int64_t, std::string> at;
  const auto note = [](const NamedRecord& r) { return r.record.environment.value("shard", json()); };
  const json first = note(records.front());
  for (const NamedRecord& r : records) {
    const json shard = note(r);
    if (shard.is_object() != first.is_object())
      throw Error(fmt::format("'{}' is a shard and '{}' is none: merge the shards first",
                              first.is_object() ? records.front().name : r.name,
                              first.is_object() ? r.name : records.front().name));
    if (!first.is_object()) continue;
    for (const char* key : {"index", "of", "cases"})
      if (!shard.contains(key) || !shard[key].is_number_integer())
        throw Error(fmt::format("'{}' does not say which shard it is: run it again with --shard", r.name));
    for (const char* key : {"of", "cases", "selection"})
      if (shard.value(key, json()) != first.value(key, json()))
        throw Error(
            fmt::format("'{}' and '{}' are shards of different runs ('{}' differs): merge those of one",
                        records.front().name, r.name, key));
    const auto index = shard["index"].get<std::int64_t>();
    if (!at.emplace(index, r.name).second)
      throw Error(fmt::format("'{}' and '{}' are both shard {}: leave one out", at[index], r.name, index));
  }
  if (!first.is_object()) return;
  const auto of = first["of"].get<std::int64_t>();
  if (of < 1 || of > 100000) throw Error("the shards do not say how many there are: run them again");
  std::string missing;
  std::int64_t lacking = 0;
  for (std::int64_t i = 1; i <= of; ++i)
    if (!at.contains(i) && ++lacking <= 10) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", i);
  if (lacking > 0)
    throw Error(fmt::format("{} of {} missing: {}{}", lacking, counted(of, "shard", "is", "are"), missing,
                            lacking > 10 ? ", ..." : ""));
}

void check_environments(const std::vector<NamedRecord>& records) {
  for (const NamedRecord& r : records) {
    const std::string found =
        environment_difference(records.front().record.environment, r.record.environment);
    if (!found.empty())
      throw Error(fmt::format("'{}' and '{}' ran in different environments: {}; results of one run share one",
                              records.front().name, r.name, found));
  }
}

}  // namespace

std::string environment_difference(const json& x, const json& y) {
  return first_difference(deciding(x), deciding(y));
}

Record merge_records(std::vector<NamedRecord> records) {
  if (records.empty()) throw Error("nothing to merge: name the records");
  check_shards(records);
  check_environments(records);
  Record merged;
  merged.environment = records.front().record.environment;
  for (const char* key : {"shard", "workers", "devices"}) merged.environment.erase(key);
  json hosts = json::array(), devices = json::array();
  std::map<std::string, std::size_t> from;
  for (std::size_t i = 0; i < records.size(); ++i) {
    Record& r = records[i].record;
    const json host = r.environment.value("host", json());
    const json name = host.is_object() ? host.value("name", json()) : json();
    if (std::find(hosts.begin(), hosts.end(), name) == hosts.end()) hosts.push_back(name);
    for (json entry : r.environment.value("devices", json::array())) {
      if (entry.is_object()) entry["host"] = name;
      devices.push_back(std::move(entry));
    }
    for (json& row : r.results) {
      const std::string key = json{row["case"], row["variant"], row["mode"]}.dump();
      const auto [at, fresh] = from.emplace(key, i);
      if (!fresh)
        throw Error(fmt::format("result {} is in '{}' and in '{}': leave one out", key,
                                records[at->second].name, records[i].name));
      merged.results.push_back(std::move(row));
    }
    for (json& row : r.timings) merged.timings.push_back(std::move(row));
    for (json& c : r.cases) merged.cases.push_back(std::move(c));
    r = {};
  }
  if (!devices.empty()) merged.environment["devices"] = devices;
  merged.environment["merged"] = {{"records", records.size()}, {"hosts", hosts}};
  sort_record(merged);
  return merged;
}

}  // namespace ulpscope
