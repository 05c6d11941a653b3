#include "kernels/vendor/shared_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "reference/error.hpp"

namespace ulpscope::vendor {
namespace {

// Where CUDA's installers put libraries that the loader's cache often does not know.
constexpr const char* kPlaces[] = {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/",
                                   "/usr/local/cuda/extras/CUPTI/lib64/"};

}  // namespace

SharedLibrary::SharedLibrary(const char* what, const std::vector<std::string>& names,
                             const char* override_variable)
    : what_(what) {
  const char* chosen = std::getenv(override_variable);
  std::string tried;
  auto attempt = [&](const std::string& name) {
    if (handle_) return;
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_ && tried.empty()) tried = dlerror();
  };
  if (chosen && *chosen) {
    attempt(chosen);
  } else {
    for (auto& name : names) attempt(name);
    for (auto& name : names)
      for (const char* place : kPlaces) attempt(place + name);
  }
  if (handle_) return;
  // Reasons are one line in tables and records.
  for (char& ch : tried)
    if (ch == '\n') ch = ' ';
  missing_ = what_ + " is not here (" + tried + "): install it, put its folder on LD_LIBRARY_PATH, or set " +
             override_variable + " to the file";
}

std::string SharedLibrary::path_of(const void* symbol) const {
  Dl_info info{};
  return symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
}

void* SharedLibrary::symbol(const char* name) const {
  if (!handle_) throw Error(missing_);
  if (void* p = dlsym(handle_, name)) return p;
  throw Error(what_ + " has no function " + name +
              ": it is older than this program needs, install a newer one");
}

}  // namespace ulpscope::vendor
