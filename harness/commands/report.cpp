// ulpscope report RECORD: the record for people and for other programs, all sinks at once.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/io/atomic_file.hpp"
#include "harness/io/bytes.hpp"
#include "reference/error.hpp"
#include "reports/difference.hpp"
#include "reports/html.hpp"
#include "reports/render.hpp"

namespace ulpscope {
namespace {

struct Options {
  std::string record, against, html, markdown, junit, sarif, csv, json;
  std::vector<std::string> explanations, drifts, self_tests;
};

struct Sink {
  std::string path, text;
};

HtmlExtras extras_of(const Options& o) {
  if (o.html.empty() && !(o.explanations.empty() && o.drifts.empty() && o.self_tests.empty()))
    throw Error("--explain, --drift and --self-test show in the HTML report: add --html FILE");
  auto documents = [](const std::vector<std::string>& paths) {
    std::vector<HtmlExtras::Document> list;
    for (const std::string& path : paths) list.push_back({path, std::string(map_file(path).text())});
    return list;
  };
  return {documents(o.explanations), documents(o.drifts), documents(o.self_tests)};
}

int run(const Options& o) {
  const HtmlExtras extras = extras_of(o);
  const RecordView record = read_record_view(o.record);
  std::vector<Sink> sinks;
  auto add = [&](const std::string& path, const auto& render) {
    if (!path.empty()) sinks.push_back({path, render()});
  };
  add(o.html, [&] { return render_html(record, extras); });
  add(o.markdown, [&] { return render_markdown(record); });
  add(o.junit, [&] { return render_junit(record); });
  add(o.sarif, [&] { return render_sarif(record); });
  add(o.csv, [&] { return render_csv(record); });
  add(o.json, [&] { return render_json(record); });
  add(o.against, [&] { return render_difference(difference(read_record_view(o.against), record)); });
  if (!o.against.empty()) sinks.back().path = "-";
  if (sinks.empty()) sinks.push_back({"-", render_markdown(record)});
  for (const Sink& sink : sinks)
    if (sink.path == "-")
      std::fwrite(sink.text.data(), 1, sink.text.size(), stdout);
    else
      write_text(sink.path, sink.text);
  return 0;
}

const RegisterCommand registered(60, [](CLI::App& app, int& exit_code) {
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("report", "Render a record: HTML, Markdown, JUnit, SARIF, CSV, JSON");
  sub->add_option("RECORD", o->record, "A record that run or judge wrote")->required();
  sub->add_option("--against", o->against,
                  "An older record: print what changed in bits, plans, errors, libraries and device");
  sub->add_option("--html", o->html, "A page in one file, for a browser; works offline")
      ->check(written_file(true));
  sub->add_option("--explain", o->explanations, "Show this in the HTML, too: written by explain --json");
  sub->add_option("--drift", o->drifts, "Likewise: written by drift --json");
  sub->add_option("--self-test", o->self_tests, "Likewise: written by self-test --json");
  sub->add_option("--markdown", o->markdown,
                  "Markdown for a pull request (- for standard output; the default)")
      ->check(written_file(true));
  sub->add_option("--junit", o->junit, "JUnit XML")->check(written_file(true));
  sub->add_option("--sarif", o->sarif, "SARIF 2.1.0")->check(written_file(true));
  sub->add_option("--csv", o->csv, "CSV")->check(written_file(true));
  sub->add_option("--json", o->json, "The record itself, in standard layout")->check(written_file(true));
  sub->callback([o, &exit_code] { exit_code = run(*o); });
});

}  // namespace
}  // namespace ulpscope
