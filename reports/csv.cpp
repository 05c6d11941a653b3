// RFC 4180: CRLF line ends, fields with commas, quotes or line breaks in quotes, quotes doubled.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/render.hpp"
#include "reports/words.hpp"

namespace ulpscope {
namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string line(const std::vector<std::string>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) text += (i ? "," : "") + field(fields[i]);
  return text + "\r\n";
}

std::string truth(const std::optional<bool>& x) {
  return x ? (*x ? "true" : "false") : "";
}

}  // namespace

std::string render_csv(const RecordView& record) {
  std::string text = line(
      {"case",          "variant",        "mode",           "effective_mode", "executed",   "verdict",
       "reason",        "outputs",        "judged_outputs", "max_abs",        "mean_abs",   "mean_signed",
       "max_ulp",       "p50_ulp",        "p99_ulp",        "p999_ulp",       "max_scaled", "nonfinite",
       "violations",    "atol",           "rtol",           "bound",          "headroom",   "expected_max",
       "bit_identical", "runs_identical", "plan",           "declared_plan",  "input_hash", "output_hash",
       "device_ms",     "source",         "reproduce"});
  for (const ResultView& r : record.results) {
    const ErrorView none, &e = r.error ? *r.error : none;
    text += line({r.test,
                  r.variant,
                  r.mode,
                  r.effective_mode,
                  r.executed,
                  to_string(r.verdict),
                  reason_of(r),
                  std::to_string(r.outputs),
                  std::to_string(r.judged_outputs),
                  exact_figure(e.max_abs),
                  exact_figure(e.mean_abs),
                  exact_figure(e.mean_signed),
                  exact_figure(e.max_ulp),
                  exact_figure(e.p50_ulp),
                  exact_figure(e.p99_ulp),
                  exact_figure(e.p999_ulp),
                  exact_figure(e.max_scaled),
                  r.error ? std::to_string(e.nonfinite) : "",
                  e.violations ? std::to_string(*e.violations) : "",
                  exact_figure(e.atol),
                  exact_figure(e.rtol),
                  exact_figure(r.bound),
                  exact_figure(e.headroom),
                  exact_figure(r.expected_max),
                  exact_figure(r.bit_identical),
                  truth(r.runs_identical),
                  r.plan,
                  r.declared_plan,
                  r.input_hash,
                  r.output_hash,
                  exact_figure(r.device_ms),
                  r.source,
                  r.reproduce});
  }
  return text;
}

std::string render_json(const RecordView& record) {
  return record.raw->dump(1) + "\n";
}

}  // namespace ulpscope
