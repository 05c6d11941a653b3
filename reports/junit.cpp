// The dialect that Jenkins, GitLab and Maven Surefire have in common. Its schema, for the tests, is
// reports/schema/junit.xsd.
#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "reports/render.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

/// XML 1.0 has no control characters, not even escaped.
std::string clean(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? std::string("\xEF\xBF\xBD")
                                                                          : std::string(1, c);
  return out;
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(clean(value).c_str());
}

std::string seconds(double ms) {
  return fmt::format("{:.6f}", ms / 1000);
}

std::string details(const ResultView& r) {
  std::string text = reason_of(r) + "\n";
  if (r.error)
    text += fmt::format("max error {}, bound {}, {} of it; mean {}, signed mean {}\n",
                        figure(r.error->max_abs), figure(r.bound), figure(r.error->headroom),
                        figure(r.error->mean_abs), figure(r.error->mean_signed));
  if (!r.plan.empty()) text += "plan: " + r.plan + "\n";
  if (!r.source.empty()) text += "source: " + r.source + "\n";
  return text + "reproduce: " + r.reproduce + "\n";
}

void add_test_case(pugi::xml_node suite, const ResultView& r) {
  pugi::xml_node test = suite.append_child("testcase");
  set(test, "classname", r.test);
  set(test, "name", r.variant + " [" + r.mode + "]");
  set(test, "time", seconds(r.device_ms.value_or(0)));
  const Standing s = standing(r);
  if (s == Standing::pass) {
    // `replay` stands in for a device: whoever reads only this file must see it.
    test.append_child("system-out")
        .text()
        .set(clean(fmt::format("{} ({}): {}\nmax error {}, bound {}\n", to_string(r.verdict), r.executed,
                               reason_of(r), figure(max_error_of(r)), figure(r.bound)))
                 .c_str());
    return;
  }
  if (s == Standing::skip || s == Standing::excused) {
    set(test.append_child("skipped"), "message",
        (s == Standing::excused ? std::string(to_string(r.verdict)) + ": " : "") + reason_of(r));
    return;
  }
  pugi::xml_node problem = test.append_child(s == Standing::error ? "error" : "failure");
  set(problem, "message", reason_of(r));
  set(problem, "type", s == Standing::unverified ? "unverified" : to_string(r.verdict));
  problem.text().set(clean(details(r)).c_str());
}

struct Counts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  double ms = 0;
  void add(const ResultView& r) {
    const Standing s = standing(r);
    ++tests;
    errors += s == Standing::error;
    failures += is_finding(s) && s != Standing::error;
    skipped += s == Standing::skip || s == Standing::excused;
    ms += r.device_ms.value_or(0);
  }
  void write(pugi::xml_node node, bool with_skipped) const {
    node.append_attribute("tests").set_value(tests);
    node.append_attribute("failures").set_value(failures);
    node.append_attribute("errors").set_value(errors);
    if (with_skipped) node.append_attribute("skipped").set_value(skipped);
    set(node, "time", seconds(ms));
  }
};

}  // namespace

std::string render_junit(const RecordView& record) {
  std::map<std::string, std::vector<const ResultView*>> by_case;
  Counts all;
  for (const ResultView& r : record.results) {
    by_case[r.test].push_back(&r);
    all.add(r);
  }
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("UTF-8");
  pugi::xml_node suites = document.append_child("testsuites");
  set(suites, "name", "ulpscope");
  all.write(suites, false);
  for (const auto& [name, results] : by_case) {
    Counts counts;
    for (const ResultView* r : results) counts.add(*r);
    pugi::xml_node suite = suites.append_child("testsuite");
    set(suite, "name", name);
    counts.write(suite, true);
    const std::string& started = record.environment.started;  // ISO 8601 without a zone is what readers take
    if (!started.empty()) set(suite, "timestamp", started.substr(0, 19));
    if (!record.environment.host.empty()) set(suite, "hostname", record.environment.host);
    pugi::xml_node properties = suite.append_child("properties");
    for (const auto& [what, value] : environment_lines(record.environment)) {
      pugi::xml_node property = properties.append_child("property");
      set(property, "name", what);
      set(property, "value", value);
    }
    for (const ResultView* r : results) add_test_case(suite, *r);
  }
  std::ostringstream out;
  document.save(out, " ", pugi::format_default, pugi::encoding_utf8);
  return out.str();
}

}  // namespace ulpscope
