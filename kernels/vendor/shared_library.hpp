#pragma once
#include <string>
#include <vector>

namespace ulpscope::vendor {

/// A library opened with dlopen, for the life of the process (unloading a CUDA library is not safe).
class SharedLibrary {
 public:
  /// Tries each name: as given (so LD_LIBRARY_PATH and the system's cache apply), then in the places where
  /// CUDA is usually installed. The environment variable `override_variable`, if set, names the only file to
  /// try.
  SharedLibrary(const char* what, const std::vector<std::string>& names, const char* override_variable);

  bool loaded() const { return handle_ != nullptr; }
  const std::string& missing() const { return missing_; }  // one line; "" when loaded
  std::string path_of(const void* symbol) const;           // the file a symbol came from

  /// Throws Error if the library is not loaded or lacks the symbol (an older version).
  void* symbol(const char* name) const;

  /// Fills a typed entry of a function table: load(api.create, "cudnnCreate").
  template <class F>
  void load(F*& entry, const char* name) const {
    entry = reinterpret_cast<F*>(symbol(name));
  }

 private:
  std::string what_, missing_;
  void* handle_ = nullptr;
};

}  // namespace ulpscope::vendor
