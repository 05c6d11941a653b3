#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope {

enum class Verdict : std::uint8_t {
  identical,
  explained,
  bounded,  // pass
  violated,
  structural,
  nondeterministic,
  unexplained,  // fail
  vacuous,
  skipped,  // neither
  error
};
const char* to_string(Verdict v);
Verdict parse_verdict(const std::string& name);
bool passes(Verdict v);

/// Process exit: 2 if any error; else 1 if any failure (declared nondeterminism within its spread bound
/// excepted: pass it as `bounded_nondeterministic`); else 3 if nothing passed; else 0.
struct ExitTally {
  std::int64_t passed = 0, failed = 0, neither = 0, errors = 0;
  void add(Verdict v, bool excused_nondeterminism = false);
  int exit_code() const;
};

}  // namespace ulpscope
