#include "reports/json_fields.hpp"

#include <nlohmann/json.hpp>

#include "harness/measure_strata.hpp"
#include "reference/error.hpp"

namespace ulpscope {

using nlohmann::json;

json parse_document(std::string_view text, const std::string& name, const std::string& schema,
                    const std::vector<JsonPlace>& unread) {
  auto refuse = [&](const std::string& why) -> Error {
    return Error("'" + name + "' is no " + schema + " document: " + why);
  };
  json whole;
  try {
    whole = read_json(text, unread);
  } catch (const Error& e) {
    throw refuse(e.what());
  }
  if (!whole.is_object() || !whole.contains("schema") || !whole["schema"].is_string())
    throw refuse("it has no 'schema'");
  if (whole["schema"] != schema)
    throw refuse("its schema is '" + whole["schema"].get<std::string>().substr(0, 60) + "'");
  return whole;
}

Fields::Fields(const json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) throw Error("'" + where_ + "' must be an object: write the record again");
}

void Fields::refuse(const char* key, const char* must_be) const {
  throw Error(where_ + ": '" + key + "' must be " + must_be + ": write the record again");
}

const json* Fields::find(const char* key) const {
  const auto at = object_->find(key);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

bool Fields::has(const char* key) const {
  return find(key) != nullptr;
}

std::string Fields::text(const char* key) const {
  const json* value = find(key);
  if (!value) return {};
  if (!value->is_string()) refuse(key, "a text");
  return value->get<std::string>();
}

std::string Fields::needed_text(const char* key) const {
  if (!find(key)) refuse(key, "there");
  return text(key);
}

std::optional<double> Fields::number(const char* key) const {
  const json* value = find(key);
  if (!value) return std::nullopt;
  const std::optional<double> x = number_of(*value);
  if (!x) refuse(key, "a number");
  return x;
}

std::optional<std::int64_t> Fields::count(const char* key) const {
  const json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_number_integer()) refuse(key, "a whole number");
  return value->get<std::int64_t>();
}

std::optional<bool> Fields::truth(const char* key) const {
  const json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::vector<std::string> Fields::texts(const char* key) const {
  const json* value = find(key);
  if (!value) return {};
  if (!value->is_array()) refuse(key, "a list of texts");
  std::vector<std::string> list;
  for (const json& x : *value) {
    if (!x.is_string()) refuse(key, "a list of texts");
    list.push_back(x.get<std::string>());
  }
  return list;
}

std::vector<double> Fields::numbers(const char* key) const {
  const json* value = find(key);
  if (!value) return {};
  if (!value->is_array()) refuse(key, "a list of numbers");
  std::vector<double> list;
  list.reserve(value->size());
  for (const json& x : *value) {
    const std::optional<double> number = number_of(x);
    if (!number) refuse(key, "a list of numbers");
    list.push_back(*number);
  }
  return list;
}

std::vector<Fields> Fields::objects(const char* key) const {
  const json* value = find(key);
  if (!value) return {};
  if (!value->is_array()) refuse(key, "a list of objects");
  std::vector<Fields> list;
  list.reserve(value->size());
  for (std::size_t i = 0; i < value->size(); ++i)
    list.emplace_back((*value)[i], where_ + "." + key + "[" + std::to_string(i) + "]");
  return list;
}

std::optional<Fields> Fields::object(const char* key) const {
  const json* value = find(key);
  if (!value) return std::nullopt;
  return Fields(*value, where_ + "." + key);
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> list;
  for (const auto& [key, value] : object_->items()) list.push_back(key);
  return list;
}

}  // namespace ulpscope
