#include "harness/io/read_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "reference/error.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
constexpr std::size_t kMostLevels = 32;

/// Builds what the parser reports; false stops the parser.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(const std::vector<JsonPlace>& unread) : unread_(unread) { held_.reserve(kMostLevels); }

  bool too_deep() const { return depth_ > kMostLevels; }
  json take() { return std::move(whole_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool x) override { return value(x); }
  bool number_integer(number_integer_t x) override { return value(x); }
  bool number_unsigned(number_unsigned_t x) override { return value(x); }
  bool number_float(number_float_t x, const string_t&) override { return value(x); }
  bool string(string_t& x) override { return value(x); }  // copied: the parser's own has room to grow
  bool binary(binary_t&) override { return false; }       // JSON's text has none
  bool start_object(std::size_t) override { return open(json::value_t::object); }
  bool start_array(std::size_t) override { return open(json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

  bool key(string_t& name) override {
    if (depth_ > held_.size()) return true;
    Level& here = held_.back();
    passing_ = is_unread(name);
    if (passing_) return true;
    auto& members = here.value->get_ref<json::object_t&>();
    // Most writers sort. Of members of one name the last decides, as with the library's own reader.
    const auto at = members.emplace_hint(members.end(), name, nullptr);
    here.name = &at->first;
    here.member = &at->second;
    return true;
  }

 private:
  struct Level {
    json* value;
    const std::string* name = nullptr;  // of the member that comes next or is open; none in a list
    json* member = nullptr;
  };
  const std::vector<JsonPlace>& unread_;
  json whole_;
  std::vector<Level> held_;  // open objects and lists that are built
  std::size_t depth_ = 0;    // those, and the ones open inside a member that isn't
  bool passing_ = false;     // the member that comes next or is open isn't built

  bool is_unread(const std::string& name) const {
    return std::any_of(unread_.begin(), unread_.end(), [&](const JsonPlace& place) {
      if (place.size() != held_.size() || place.back() != name) return false;
      for (std::size_t i = 0; i + 1 < place.size(); ++i) {
        const bool element = place[i].empty();
        if (element != !held_[i].name || (!element && place[i] != *held_[i].name)) return false;
      }
      return true;
    });
  }

  json* put(json&& x) {
    if (held_.empty()) return &(whole_ = std::move(x));
    const Level& here = held_.back();
    if (here.value->is_array()) return &here.value->get_ref<json::array_t&>().emplace_back(std::move(x));
    return &(*here.member = std::move(x));
  }

  template <class T>
  bool value(const T& x) {
    if (!passing_) put(x);
    return true;
  }

  bool open(json::value_t type) {
    if (++depth_ > kMostLevels) return false;
    if (!passing_) held_.push_back({put(type)});
    return true;
  }

  bool close() {
    if (depth_-- == held_.size()) {
      held_.pop_back();
      passing_ = false;
    }
    return true;
  }
};

}  // namespace

json read_json(std::string_view text, const std::vector<JsonPlace>& unread) {
  Builder builder(unread);
  if (json::sax_parse(text, &builder)) return builder.take();
  throw Error(builder.too_deep() ? "it is nested too deeply" : "it is no JSON (cut off?)");
}

}  // namespace ulpscope
