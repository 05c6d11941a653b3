#pragma once
#include <string>
#include <string_view>

namespace ulpscope {

/// Writing that leaves either the old file or the whole new one, whenever the process dies: the content goes
/// to a file beside the target, is flushed to the disk, and is renamed over it by commit(). Without commit()
/// the file beside is removed.
class AtomicFile {
 public:
  /// Makes missing parent folders. Throws Error if they cannot be made.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Where to write: "<path>.partial-<pid>-<n>", which no reader of results takes for one.
  const std::string& beside() const { return beside_; }

  /// Flushes, renames, flushes the folder. Throws Error naming the step that failed.
  void commit();

 private:
  std::string path_, beside_;
  bool committed_ = false;
};

/// Writes a text file in one go as above.
void write_text(const std::string& path, std::string_view text);

}  // namespace ulpscope
