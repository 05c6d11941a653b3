#pragma once
// Typed access to a JSON object whose writer may be another version: what is absent or null has no value,
// what has the wrong type is an Error that names the place.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/read_json.hpp"

namespace ulpscope {

/// The text of a file, parsed, without its members at `unread`. Throws Error, one line, on anything but an
/// object of this schema.
nlohmann::json parse_document(std::string_view text, const std::string& name, const std::string& schema,
                              const std::vector<JsonPlace>& unread = {});

class Fields {
 public:
  /// `where` is what messages call the object: "r.json: results[3]". Throws Error if it is no object.
  Fields(const nlohmann::json& object, std::string where);

  bool has(const char* key) const;          // there and not null
  std::string text(const char* key) const;  // "" where absent
  std::string needed_text(const char* key) const;
  std::optional<double> number(const char* key) const;  // also "inf", "-inf", "nan"
  std::optional<std::int64_t> count(const char* key) const;
  std::int64_t count_or_0(const char* key) const { return count(key).value_or(0); }
  std::optional<bool> truth(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::vector<double> numbers(const char* key) const;
  std::vector<Fields> objects(const char* key) const;
  std::optional<Fields> object(const char* key) const;
  std::vector<std::string> keys() const;
  const nlohmann::json& raw() const { return *object_; }
  const std::string& where() const { return where_; }

 private:
  const nlohmann::json* object_;
  std::string where_;

  const nlohmann::json* find(const char* key) const;
  [[noreturn]] void refuse(const char* key, const char* must_be) const;
};

}  // namespace ulpscope
