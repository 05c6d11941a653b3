// ulpscope merge RECORD... --out F: the shards of a run put together.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "harness/commands.hpp"
#include "harness/commands/written_file.hpp"
#include "harness/merge.hpp"
#include "reference/counted.hpp"

namespace ulpscope {
namespace {

struct Arguments {
  std::vector<std::string> records;
  std::string out;
};

int merge(const Arguments& a) {
  std::vector<NamedRecord> records;
  for (const std::string& path : a.records) records.push_back({path, read_record(path)});
  const Record merged = merge_records(std::move(records));
  write_record(a.out, merged);
  std::printf("%s of %s: %s\n", counted(static_cast<std::int64_t>(merged.results.size()), "result").c_str(),
              counted(static_cast<std::int64_t>(a.records.size()), "record").c_str(), a.out.c_str());
  return 0;  // `ulpscope gate` judges what was merged
}

const RegisterCommand registered{
    75, [](CLI::App& app, int& exit_code) {
      auto a = std::make_shared<Arguments>();
      CLI::App* command =
          app.add_subcommand("merge", "Put the records of a run's shards together; none may be missing");
      command->add_option("RECORD", a->records, "Records of run --shard, or of different work")->required();
      command->add_option("--out", a->out, "Write the merged record here")->required()->check(written_file());
      command->callback([a, &exit_code] { exit_code = merge(*a); });
    }};

}  // namespace
}  // namespace ulpscope
