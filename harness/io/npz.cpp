#include "harness/io/npz.hpp"

#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/io/atomic_file.hpp"
#include "harness/io/npy.hpp"
#include "harness/suggest.hpp"
#include "reference/error.hpp"

namespace ulpscope {
namespace {

// The archive's bytes as libzip reads them. libzip has no call that tells where a member's data begin, so we
// note where it reads first after opening a stored member: its data can then be mapped instead of copied.
struct Source {
  Bytes file;
  zip_int64_t position = 0;
  std::optional<zip_int64_t> first_read;
  zip_error_t error;

  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    auto& s = *static_cast<Source*>(self);
    const auto size = static_cast<zip_int64_t>(s.file.size);
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                              ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
      case ZIP_SOURCE_OPEN:
        s.position = 0;
        return 0;
      case ZIP_SOURCE_READ: {
        if (!s.first_read) s.first_read = s.position;
        const auto count = std::min<zip_int64_t>(size - s.position, static_cast<zip_int64_t>(length));
        if (count > 0) std::memcpy(data, s.file.data + s.position, static_cast<std::size_t>(count));
        s.position += count;
        return count;
      }
      case ZIP_SOURCE_STAT: {
        auto* stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->size = s.file.size;
        stat->valid = ZIP_STAT_SIZE;
        return static_cast<zip_int64_t>(sizeof *stat);
      }
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t to = zip_source_seek_compute_offset(static_cast<zip_uint64_t>(s.position),
                                                              s.file.size, data, length, &s.error);
        if (to < 0) return -1;
        s.position = to;
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return s.position;
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&s.error, data, length);
      default:
        return 0;
    }
  }
};

std::string take(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

}  // namespace

struct Npz::Archive {
  Source source;  // outlives the zip handle, which refers to it
  zip_t* zip = nullptr;
  std::vector<std::string> members;

  Archive() { zip_error_init(&source.error); }
  ~Archive() {
    if (zip) zip_discard(zip);
    zip_error_fini(&source.error);
  }
};

Npz::~Npz() = default;
Npz::Npz(Npz&&) noexcept = default;

Npz::Npz(Bytes file) : archive_(std::make_unique<Archive>()) {
  Archive& a = *archive_;
  a.source.file = std::move(file);
  const std::string& name = a.source.file.name;
  if (a.source.file.size == 0) throw Error("'" + name + "' is empty: it was cut off, copy it again");
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(&Source::call, &a.source, &error);
  if (!source) throw Error("cannot read '" + name + "': " + take(error));
  a.zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (!a.zip) {
    zip_source_free(source);
    throw Error("'" + name + "' is no readable .npz archive (" + take(error) +
                "): it may be cut off or damaged, copy it again");
  }
  zip_error_fini(&error);
  const zip_int64_t count = zip_get_num_entries(a.zip, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* member = zip_get_name(a.zip, static_cast<zip_uint64_t>(i), 0);
    a.members.emplace_back(member ? member : "");
  }
  std::vector<std::string> sorted = a.members;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twin = std::adjacent_find(sorted.begin(), sorted.end()); twin != sorted.end())
    throw Error("'" + name + "' holds '" + *twin + "' twice: save it again");
}

const std::vector<std::string>& Npz::members() const {
  return archive_->members;
}

std::vector<std::string> Npz::arrays() const {
  std::vector<std::string> names;
  for (const auto& m : archive_->members)
    if (m.ends_with(".npy")) names.push_back(m.substr(0, m.size() - 4));
  return names;
}

bool Npz::has(const std::string& member) const {
  return std::find(members().begin(), members().end(), member) != members().end();
}

namespace {

using OpenMember = std::unique_ptr<zip_file_t, decltype([](zip_file_t* f) { zip_fclose(f); })>;

[[noreturn]] void damaged(const std::string& name, const std::string& why) {
  throw Error("'" + name + "' cannot be read (" + why + "): the archive is damaged, copy it again");
}

// Sizes that cannot be true are refused before anything is allocated.
zip_stat_t checked_stat(zip_t* zip, zip_uint64_t index, const std::string& name, std::size_t archive_size) {
  zip_stat_t stat;
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(zip, index, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
    damaged(name, zip_strerror(zip));
  if (stat.encryption_method != ZIP_EM_NONE) throw Error("'" + name + "' is encrypted: save it plain");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    throw Error("'" + name + "' uses compression method " + std::to_string(stat.comp_method) +
                ": save it with numpy.savez or numpy.savez_compressed");
  if (stat.comp_size > archive_size) damaged(name, "it claims to be larger than the archive");
  // Deflate shrinks by at most 1032 (258 bytes in two bits).
  const bool stored = stat.comp_method == ZIP_CM_STORE;
  if (stored ? stat.size != stat.comp_size : stat.size / 1032 > stat.comp_size)
    damaged(name, "its sizes contradict each other");
  return stat;
}

// Reads to the very end, which is what makes libzip compare the checksum.
template <class Consume>
void read_all(zip_file_t* file, std::size_t size, const std::string& name, Consume consume) {
  std::vector<std::byte> buffer(std::min(std::size_t{1} << 18, size + 1));
  std::size_t total = 0;
  while (true) {
    const zip_int64_t got = zip_fread(file, buffer.data(), buffer.size());
    if (got < 0) damaged(name, zip_file_strerror(file));
    if (got == 0) break;
    if (static_cast<std::size_t>(got) > size - total) damaged(name, "it is longer than declared");
    consume(total, buffer.data(), static_cast<std::size_t>(got));
    total += static_cast<std::size_t>(got);
  }
  if (total != size) damaged(name, "it is shorter than declared");
}

}  // namespace

Bytes Npz::bytes(const std::string& member) const {
  Archive& a = *archive_;
  const Bytes& whole = a.source.file;
  const std::string name = whole.name + ":" + member;
  const auto found = std::find(a.members.begin(), a.members.end(), member);
  if (found == a.members.end())
    throw Error("'" + whole.name + "' holds no '" + member + "'" + suggestion(member, a.members));
  const auto index = static_cast<zip_uint64_t>(found - a.members.begin());
  const zip_stat_t stat = checked_stat(a.zip, index, name, whole.size);
  const auto size = static_cast<std::size_t>(stat.size);
  const OpenMember open(zip_fopen_index(a.zip, index, 0));
  if (!open) damaged(name, zip_strerror(a.zip));

  Bytes result;
  if (stat.comp_method == ZIP_CM_STORE) {
    a.source.first_read.reset();
    read_all(open.get(), size, name, [&](std::size_t at, const std::byte* data, std::size_t count) {
      const auto begin = static_cast<std::size_t>(*a.source.first_read) + at;
      if (begin + count > whole.size || std::memcmp(whole.data + begin, data, count) != 0)
        damaged(name, "its data are not where they should be");
    });
    if (size > 0) result = whole.part(static_cast<std::size_t>(*a.source.first_read), size);
  } else {
    result = allocate_bytes(size, name);
    read_all(open.get(), size, name, [&](std::size_t at, const std::byte* data, std::size_t count) {
      std::memcpy(result.data + at, data, count);
    });
  }
  result.name = name;
  return result;
}

Tensor Npz::read(const std::string& name, std::optional<DType> as) const {
  if (has(name) && name.ends_with(".npy")) return read_npy(bytes(name), as);
  if (has(name + ".npy")) return read_npy(bytes(name + ".npy"), as);
  throw Error("'" + archive_->source.file.name + "' holds no array '" + name + "'" +
              suggestion(name, arrays()));
}

void write_npz(const std::string& path, std::span<const NpzMember> members) {
  AtomicFile file(path);
  int code = 0;
  zip_t* zip = zip_open(file.beside().c_str(), ZIP_CREATE | ZIP_EXCL, &code);
  if (!zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    throw Error("cannot create '" + file.beside() + "': " + take(error));
  }
  std::unique_ptr<zip_t, decltype([](zip_t* z) { zip_discard(z); })> guard(zip);
  auto fail = [&]() -> Error { return Error("cannot write '" + path + "': " + zip_strerror(zip)); };

  std::vector<std::string> headers(members.size());  // libzip reads them when it closes the archive
  std::uint64_t offset = 0;                          // of the member's local header in the archive
  for (std::size_t i = 0; i < members.size(); ++i) {
    const NpzMember& m = members[i];
    headers[i] = m.tensor.data ? npy_header(m.tensor.dtype, m.tensor.shape) : m.text;
    const std::size_t data_bytes = m.tensor.data ? m.tensor.bytes() : 0;
    const zip_buffer_fragment_t parts[2] = {
        {reinterpret_cast<zip_uint8_t*>(headers[i].data()), headers[i].size()},
        {static_cast<zip_uint8_t*>(const_cast<void*>(m.tensor.data)), data_bytes}};
    zip_source_t* source = zip_source_buffer_fragment(zip, parts, data_bytes ? 2 : 1, 0);
    if (!source) throw fail();
    const zip_int64_t index = zip_file_add(zip, m.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      throw fail();
    }
    const auto at = static_cast<zip_uint64_t>(index);
    // An extra field pads the local header to a multiple of 64 bytes, so that readers can map the data.
    constexpr std::uint64_t kLocalHeader = 30, kFieldHeader = 4, kAlign = 64;
    constexpr zip_uint16_t kPaddingId = 0xd935;  // the id that zipalign uses for the same purpose
    const std::uint64_t size = headers[i].size() + data_bytes;
    const std::uint64_t zip64 = size >= 0xffffffffu ? 20 : 0;
    const std::uint64_t unpadded = offset + kLocalHeader + m.name.size() + zip64 + kFieldHeader;
    const std::vector<zip_uint8_t> padding((kAlign - unpadded % kAlign) % kAlign, 0);
    if (zip_file_extra_field_set(zip, at, kPaddingId, 0, padding.data(),
                                 static_cast<zip_uint16_t>(padding.size()), ZIP_FL_LOCAL) != 0 ||
        zip_set_file_compression(zip, at, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(zip, at, 0, 0x21, 0) != 0)  // 1980-01-01, the first date a zip can hold
      throw fail();
    offset = unpadded + padding.size() + size;
  }
  if (zip_close(zip) != 0) throw fail();
  (void)guard.release();  // zip_close has freed it
  file.commit();
}

}  // namespace ulpscope
