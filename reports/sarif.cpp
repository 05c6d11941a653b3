// SARIF 2.1.0 (OASIS), as far as code scanning services read it.
#include <nlohmann/json.hpp>

#include "reports/render.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

using json = nlohmann::ordered_json;
constexpr std::size_t kMostFindings = 5000;

struct Rule {
  const char* id;
  const char* text;
};
constexpr Rule kRules[] = {
    {"violated", "Outside the derived bound or the budget, or operands shortened against the mode's promise"},
    {"structural", "A named mistake reproduces the result"},
    {"nondeterministic", "Two runs of the same inputs differ in bits"},
    {"unexplained", "Nothing accounts for the result"},
    {"vacuous", "The case could not have failed"},
    {"unverified", "A passing verdict without any judged output"},
    {"error", "The harness or the device failed"}};

std::string rule_of(const ResultView& r) {
  return standing(r) == Standing::unverified ? "unverified" : to_string(r.verdict);
}

std::size_t index_of(const std::string& rule) {
  std::size_t i = 0;
  while (i + 1 < std::size(kRules) && rule != kRules[i].id) ++i;
  return i;
}

/// A path in a URI: everything but unreserved characters and '/' as %XX.
std::string uri_of(const std::string& path) {
  static const char* const kHex = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto b = static_cast<unsigned char>(c);
    const bool plain = (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    if (plain)
      uri += c;
    else
      uri += {'%', kHex[b >> 4], kHex[b & 15]};
  }
  return uri;
}

json finding(const ResultView& r) {
  const std::string rule = rule_of(r);
  std::string message =
      r.variant + " (" + mode_words(r) + ") on " + r.test + " is " + rule + ": " + reason_of(r) + ".";
  if (r.error) message += " Max error " + figure(r.error->max_abs) + ", bound " + figure(r.bound) + ".";
  if (!r.reproduce.empty()) message += " Reproduce: " + r.reproduce;
  json location = {
      {"logicalLocations", json::array({{{"fullyQualifiedName", r.test + "/" + r.variant + "/" + r.mode},
                                         {"kind", "function"},
                                         {"name", r.variant}}})}};
  if (!r.source.empty())
    location["physicalLocation"] = {
        {"artifactLocation", {{"uri", uri_of(r.source)}, {"uriBaseId", "%SRCROOT%"}}},
        {"region", {{"startLine", 1}}}};
  return {
      {"ruleId", rule},
      {"ruleIndex", index_of(rule)},
      {"level", standing(r) == Standing::vacuous ? "warning" : "error"},
      {"message", {{"text", message}}},
      {"locations", json::array({location})},
      {"partialFingerprints", {{"ulpscopeResult/v1", rule + ":" + r.test + ":" + r.variant + ":" + r.mode}}}};
}

}  // namespace

std::string render_sarif(const RecordView& record) {
  json rules = json::array(), results = json::array();
  for (const Rule& rule : kRules)
    rules.push_back({{"id", rule.id},
                     {"name", rule.id},
                     {"shortDescription", {{"text", rule.text}}},
                     {"defaultConfiguration", {{"level", "error"}}}});
  std::size_t cut = 0;
  for (const ResultView& r : record.results)
    if (is_finding(standing(r))) {
      if (results.size() < kMostFindings)
        results.push_back(finding(r));
      else
        ++cut;
    }
  json invocation = {{"executionSuccessful", tally(record).errors == 0}};
  if (cut > 0)
    invocation["toolExecutionNotifications"] = json::array(
        {{{"level", "warning"},
          {"message",
           {{"text", std::to_string(cut) + " further findings were cut: see the record itself"}}}}});
  const json driver = {
      {"name", "ulpscope"},
      {"version", record.environment.version.empty() ? "unknown" : record.environment.version},
      {"rules", rules}};
  const json run = {{"tool", {{"driver", driver}}},
                    {"invocations", json::array({invocation})},
                    {"columnKind", "utf16CodeUnits"},
                    {"results", results}};
  const json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", json::array({run})}};
  return log.dump(1) + "\n";
}

}  // namespace ulpscope
