#include "harness/capture.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "harness/inputs.hpp"
#include "harness/io/npz.hpp"
#include "harness/io/read_json.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSchema = "ulpscope.capture/1";
constexpr const char* kMeta = "meta.json";
constexpr const char* kWhole = "output.npy";

std::string window_member(std::size_t i) {
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), "window_%03zu.npy", i);
  return name.data();
}

// The first contradiction between windows and case, or "".
std::string contradiction(const Capture& c, std::int64_t outputs) {
  if (c.status != "ok" && c.status != "skipped" && c.status != "error")
    return "its status '" + c.status + "' is none of ok, skipped, error";
  if ((c.status == "ok") == c.windows.empty())
    return c.windows.empty() ? "it holds no outputs" : "it holds outputs although its status is " + c.status;
  if (!std::isfinite(c.device_ms) || c.device_ms < 0) return "its time is no duration";
  if (c.runs_differing < 0 || c.runs_differing > outputs || c.runs_identical != (c.runs_differing == 0))
    return "its comparison of two runs contradicts itself";
  for (const std::int64_t first : {c.first_differing, c.first_unwritten})
    if (first < -1 || first >= outputs)
      return "the first differing or unwritten output is none of its outputs";
  std::int64_t end = 0;
  for (const Window& w : c.windows) {
    const std::int64_t count = w.bits.size();
    if (w.bits.dtype != c.test.out || w.bits.shape.size() != 1)
      return "a window is not of the output's format";
    if (w.begin < end || count < 1 || w.begin > outputs - count)
      return "window at " + std::to_string(w.begin) + " overlaps another or leaves the " +
             std::to_string(outputs) + " outputs";
    end = w.begin + count;
  }
  return "";
}

// ---- reading meta.json
// -------------------------------------------------------------------------------------

class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw Error("'" + where_ + "' is no usable capture: " + why);
  }
  const json& at(const char* key) const {
    if (!object_.is_object() || !object_.contains(key)) fail(std::string("meta.json lacks '") + key + "'");
    return object_[key];
  }
  Fields object(const char* key) const { return {at(key), where_}; }
  std::string text(const char* key) const {
    if (!at(key).is_string()) fail(std::string("'") + key + "' must be a string");
    return at(key).get<std::string>();
  }
  std::int64_t count(const char* key) const {
    const json& v = at(key);
    if (!v.is_number_unsigned() || v.get<std::uint64_t>() > INT64_MAX)
      fail(std::string("'") + key + "' must be a whole number of at least 0");
    return v.get<std::int64_t>();
  }
  /// -1 where it is missing: older captures have none.
  std::int64_t index(const char* key) const {
    return object_.is_object() && object_.contains(key) && object_[key] != -1 ? count(key) : -1;
  }
  double number(const char* key) const {
    if (!at(key).is_number()) fail(std::string("'") + key + "' must be a number");
    return at(key).get<double>();
  }
  /// NaN and infinities are written as words.
  double number_or_word(const char* key) const {
    if (const auto x = number_of(at(key))) return *x;
    fail(std::string("'") + key + "' must be a number");
  }
  bool has(const char* key) const {
    return object_.is_object() && object_.contains(key) && !object_[key].is_null();
  }
  bool boolean(const char* key) const {
    if (!at(key).is_boolean()) fail(std::string("'") + key + "' must be true or false");
    return at(key).get<bool>();
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    if (!at(key).is_array()) fail(std::string("'") + key + "' must be a list");
    for (const json& item : at(key)) {
      if (!item.is_string()) fail(std::string("'") + key + "' must be a list of strings");
      list.push_back(item.get<std::string>());
    }
    return list;
  }

 private:
  const json& object_;
  std::string where_;
};

Case read_case(const Fields& f) {
  Case c;
  try {
    c = parse_case(f.text("text"));
    check_case(c);
  } catch (const Error& e) {
    f.fail(std::string("its case cannot be read (") + e.what() + ")");
  }
  c.name = f.text("name");
  c.file = f.text("file");
  c.variants = f.texts("variants");
  c.tags = f.texts("tags");
  return c;
}

Tensor flat(Tensor t) {
  t.shape = {t.size()};
  return t;
}

}  // namespace

void write_capture(const std::string& path, const Capture& c) {
  const Contraction contraction = lower(c.test.problem);
  const std::int64_t outputs = contraction.outputs();
  if (const std::string why = contradiction(c, outputs); !why.empty())
    throw Error("the capture for '" + path + "' contradicts itself: " + why);
  const bool whole = c.windows.size() == 1 && c.windows[0].bits.size() == outputs;
  std::vector<NpzMember> members(1);
  json windows = json::array();
  for (std::size_t i = 0; i < c.windows.size(); ++i) {
    TensorView view = c.windows[i].bits.view();
    if (whole) view.shape = contraction.out_shape;
    const std::string member = whole ? kWhole : window_member(i);
    windows.push_back(
        {{"member", member}, {"begin", c.windows[i].begin}, {"count", c.windows[i].bits.size()}});
    members.push_back({member, view, ""});
  }
  json inputs = json::object();
  for (auto [name, tensor] : {std::pair{"a", &c.a}, {"b", &c.b}, {"bias", &c.bias}})
    if (tensor->data) {
      inputs[name] = "input_" + std::string(name) + ".npy";
      members.push_back({inputs[name], tensor->view(), ""});
    }
  const json meta{
      {"schema", kSchema},
      {"case",
       {{"name", c.test.name},
        {"file", c.test.file},
        {"text", to_string(c.test)},
        {"variants", c.test.variants},
        {"tags", c.test.tags}}},
      {"variant", c.variant},
      {"mode", to_string(c.mode)},
      {"executed", c.executed},
      {"environment", c.environment},
      {"input_hash", c.input_hash},
      {"output_hash", c.output_hash},
      {"runs_identical", c.runs_identical},
      {"runs_differing", c.runs_differing},
      {"device_ms", c.device_ms},
      {"notes",
       {{"engine", c.notes.engine}, {"notes", c.notes.notes}, {"workspace_bytes", c.notes.workspace_bytes}}},
      {"launch",
       {{"declared_plan", c.declared_plan},
        {"declared_nondeterministic", c.declared_nondeterministic},
        {"unwritten", c.unwritten},
        {"first_differing", c.first_differing},
        {"first_unwritten", c.first_unwritten},
        {"guards_intact", c.guards_intact},
        {"effective_mode", c.effective_mode},
        {"sums_of_ones", to_json(c.ones)}}},
      {"status", c.status},
      {"reason", c.reason},
      {"outputs", outputs},
      {"inputs", inputs},
      {"windows", windows}};
  members[0] = {kMeta, {}, meta.dump(1, ' ', false, json::error_handler_t::replace) + "\n"};
  write_npz(path, members);
}

Capture read_capture(const Bytes& file) {
  const Npz archive(file);
  if (!archive.has(kMeta))
    throw Error("'" + file.name +
                "' is no capture (it holds no meta.json): captures come from 'ulpscope run'");
  return assemble_capture(archive.bytes(kMeta).text(), file.name,
                          [&](const std::string& member) { return archive.read(member); });
}

Capture assemble_capture(std::string_view meta_text, const std::string& name,
                         const std::function<Tensor(const std::string&)>& array) {
  json meta;
  const Fields f(meta, name);
  try {
    meta = read_json(meta_text);
  } catch (const Error& e) {
    f.fail(std::string("meta.json: ") + e.what());
  }
  if (!meta.is_object()) f.fail("meta.json is no JSON object");
  if (f.text("schema") != kSchema)
    f.fail("its schema is '" + f.text("schema") + "', this program reads " + kSchema);
  Capture c;
  c.test = read_case(f.object("case"));
  c.variant = f.text("variant");
  try {
    c.mode = parse_mode(f.text("mode"));
  } catch (const Error& e) {
    f.fail(e.what());
  }
  c.executed = f.text("executed");
  c.environment = f.at("environment");
  c.input_hash = f.text("input_hash");
  c.output_hash = f.text("output_hash");
  c.runs_identical = f.boolean("runs_identical");
  c.runs_differing = f.count("runs_differing");
  c.device_ms = f.number("device_ms");
  const Fields notes = f.object("notes");
  c.notes = {notes.text("engine"), notes.texts("notes"), notes.count("workspace_bytes")};
  if (meta.contains("launch")) {
    const Fields launch = f.object("launch");
    c.declared_plan = launch.text("declared_plan");
    c.declared_nondeterministic = launch.boolean("declared_nondeterministic");
    c.unwritten = launch.count("unwritten");
    c.first_differing = launch.index("first_differing");
    c.first_unwritten = launch.index("first_unwritten");
    c.guards_intact = launch.boolean("guards_intact");
    c.effective_mode = launch.text("effective_mode");
    if (launch.has("sums_of_ones")) {
      const Fields ones = launch.object("sums_of_ones");
      c.ones = {ones.count("outputs"), ones.count("wrong"), ones.index("first_wrong"), 0, 0};
      if (c.ones.wrong > 0) c.ones.terms = ones.count("terms"), c.ones.seen = ones.number_or_word("seen");
    }
  }
  c.status = f.text("status");
  c.reason = f.text("reason");
  const std::int64_t outputs = lower(c.test.problem).outputs();
  if (f.count("outputs") != outputs) f.fail("its number of outputs is not its case's");
  if (meta.contains("inputs")) {
    const json& stored = f.at("inputs");
    if (!stored.is_object()) f.fail("'inputs' must be an object");
    const Problem& p = c.test.problem;
    auto read = [&](const char* key, Tensor& t, const Shape& shape) {
      if (!stored.contains(key)) return;
      t = array(f.object("inputs").text(key));
      if (t.dtype != c.test.in || t.shape != shape)
        f.fail(std::string("its operand '") + key + "' is " + name_of(t.dtype) + " " + to_string(t.shape) +
               ", its case says " + name_of(c.test.in) + " " + to_string(shape));
    };
    read("a", c.a, p.a);
    read("b", c.b, p.b);
    if (p.params.bias) read("bias", c.bias, bias_shape(p));
    if (c.a.data && ((!p.b.empty() && !c.b.data) || (p.params.bias && !c.bias.data)))
      f.fail("it holds some of its operands, but not all");
  }
  if (!f.at("windows").is_array()) f.fail("'windows' must be a list");
  for (const json& item : f.at("windows")) {
    const Fields w(item, name);
    const std::string member = w.text("member");
    if (!member.ends_with(".npy")) f.fail("window member '" + member + "' is no array");
    Window window{w.count("begin"), flat(array(member))};
    if (window.bits.size() != w.count("count")) f.fail("'" + member + "' has not the size meta.json says");
    c.windows.push_back(std::move(window));
  }
  if (const std::string why = contradiction(c, outputs); !why.empty()) f.fail(why);
  if (c.windows.size() == 1 && c.windows[0].bits.size() == outputs &&
      hash_bytes(c.windows[0].bits.data.get(), c.windows[0].bits.view().bytes()) != c.output_hash)
    f.fail("its output misses output_hash: one of them was altered");
  return c;
}

Capture read_capture(const std::string& path) {
  return read_capture(map_file(path));
}

std::string capture_file_name(const Case& test, const std::string& variant, Mode mode) {
  constexpr std::size_t kReadable = 60;  // of the case's name, which may be a whole text
  const std::string label = test.name.substr(0, kReadable) + "--" + variant + "--" + to_string(mode);
  std::string name;
  for (const char c : label) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    name += plain ? c : '_';
  }
  const std::string identity = test.name + "\n" + to_string(test) + "\n" + variant + "\n" + to_string(mode);
  std::array<char, 32> hash;
  std::snprintf(hash.data(), hash.size(), "--%08x.npz",
                static_cast<unsigned>(XXH3_64bits(identity.data(), identity.size())));
  return name + hash.data();
}

std::vector<std::string> capture_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::recursive_directory_iterator entries(folder, error);
  if (error) throw Error("cannot list '" + folder + "': " + error.message());
  for (const auto& entry : entries)
    if (entry.is_regular_file() && entry.path().extension() == ".npz") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

bool has_capture(const std::string& path, const Case& test, const std::string& variant, Mode mode,
                 const std::string& input_hash) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  try {
    const Capture c = read_capture(path);
    return c.status != "error" && c.variant == variant && c.mode == mode && c.input_hash == input_hash &&
           c.test.name == test.name && to_string(c.test) == to_string(test);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ulpscope
