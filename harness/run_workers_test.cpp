// Cases shared out among processes without a GPU, as stand-ins for ones with: the same results as one process
// gives, whatever happens to a worker.
#include "harness/run_workers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "harness/merge.hpp"
#include "harness/worker_process.hpp"
#include "harness/worker_seats.hpp"
#include "reference/error.hpp"
#include "reference/plan.hpp"

namespace ulpscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Where the planted variant ends its process: always in the case with this K, or once, until the file is
// there.
std::int64_t deadly_k = 0;
std::string until_file;

Variant deadly() {
  Variant v;
  v.name = "workers_deadly";
  v.op = "gemm";
  v.source = "harness/run_workers_test.cpp";
  v.plan = [](const Problem&, Mode) { return std::string("fp32 | fma"); };
  v.unsupported = [](const Problem&, DType, DType, Mode) {
    return std::string(deadly_k == 0 ? "only where a test asks for it" : "");
  };
  v.launch = [](const LaunchArgs& args) {
    if (args.problem->b[0] == deadly_k && (until_file.empty() || !std::filesystem::exists(until_file))) {
      if (!until_file.empty()) std::ofstream(until_file) << "died";
      std::raise(SIGKILL);
    }
    const Operands operands{{args.a, DType::f32, args.problem->a}, {args.b, DType::f32, args.problem->b}, {}};
    replay(*parse_plan("fp32 | fma"), *args.contraction, operands, 0, args.contraction->outputs(),
           static_cast<std::uint32_t*>(args.out), 1);
    return LaunchNotes{};
  };
  return v;
}
const Register registered{deadly()};

class RunWorkers : public ::testing::Test {
 protected:
  RunWorkers() {
    for (int k = 4; k < 11; ++k) {
      cases.push_back(parse_case("gemm 3x" + std::to_string(k) + " * " + std::to_string(k) + "x2 seed=1"));
      cases.back().name = "t/" + std::to_string(k);
    }
    options.device = DeviceChoice::cpu;
    options.threads = 2;
    options.variants = {"host_naive", "host_pairwise", "workers_deadly"};
    deadly_k = 0;
    until_file.clear();
  }
  ~RunWorkers() override { deadly_k = 0; }

  Record ran(int workers) {
    options.workers.host = workers;
    return run_cases(cases, options);
  }
  static std::string rows(const Record& r) { return json(r.results).dump(1); }
  static int total(const Record& r, const char* what) {
    int sum = 0;
    for (const json& w : r.environment.at("workers")) sum += w.at(what).get<int>();
    return sum;
  }

  std::vector<Case> cases;
  RunOptions options;
};

TEST_F(RunWorkers, ResultsAreThoseOfOneProcessByteForByte) {
  const Record one = ran(0);
  EXPECT_FALSE(one.environment.contains("workers"));
  for (const int n : {1, 3, 9}) {
    std::string said;
    options.progress = [&](const std::string& line) { said += line + "\n"; };
    const Record shared = ran(n);
    EXPECT_EQ(rows(shared), rows(one)) << n;
    EXPECT_EQ(shared.timings.size(), one.timings.size());
    EXPECT_EQ(shared.environment["workers"].size(), std::min<std::size_t>(n, cases.size()))
        << "none without a case";
    EXPECT_EQ(total(shared, "cases"), 7);
    EXPECT_EQ(total(shared, "started"), std::min(n, 7));
    EXPECT_THAT(said, ::testing::ContainsRegex("[0-9]/7. worker [1-9]: t/"));
  }
}

// The case that ends every process it runs in: an error that says so; nothing else is lost.
TEST_F(RunWorkers, ACaseThatEndsItsWorkersIsAnErrorAndTheOthersGoOn) {
  deadly_k = 1;  // nowhere: it runs, and lives
  const Record whole = ran(0);
  deadly_k = 6;
  for (const int n : {1, 2}) {
    const Record shared = ran(n);
    ASSERT_EQ(shared.results.size(), whole.results.size());
    int errors = 0;
    for (std::size_t i = 0; i < whole.results.size(); ++i) {
      if (shared.results[i]["case"] != "t/6") {
        EXPECT_EQ(shared.results[i], whole.results[i]);
        continue;
      }
      ++errors;
      EXPECT_EQ(shared.results[i]["verdict"], "error");
      EXPECT_THAT(shared.results[i]["reason"].get<std::string>(),
                  HasSubstr("was killed by signal 9 (Killed) (t/6: running workers_deadly in fp32)"));
    }
    EXPECT_EQ(errors, 3);
    EXPECT_EQ(exit_code_of(shared), 2);
    EXPECT_EQ(total(shared, "cases"), 6);
    EXPECT_GE(total(shared, "started"), n == 1 ? 3 : 2) << "two ended";
  }
}

TEST_F(RunWorkers, WorkOfAWorkerThatEndsIsDoneByAnother) {
  deadly_k = 8;
  until_file = testing::TempDir() + "ulpscope_died_" + std::to_string(getpid());
  const Record shared = ran(2);
  EXPECT_TRUE(std::filesystem::exists(until_file));
  EXPECT_EQ(rows(shared), rows(ran(0)));
  EXPECT_EQ(total(shared, "started"), 3);
  std::filesystem::remove(until_file);
}

// On a GPU a fault in a kernel ends the context: the next case must not meet it.
TEST_F(RunWorkers, AWorkerIsReplacedAfterAnError) {
  options.variants = {"planted_throws"};
  const Record shared = ran(1);
  EXPECT_EQ(rows(shared), rows(ran(0)));
  EXPECT_EQ(total(shared, "started"), 7);
}

TEST_F(RunWorkers, GoOnWhereARunStoppedWhateverTheNumberOfWorkers) {
  options.captures = testing::TempDir() + "ulpscope_workers_" + std::to_string(getpid());
  const std::vector<Case> all = cases;
  cases.resize(3);
  const Record before = ran(2);
  cases = all;
  const Record after = ran(3);
  const Record again = ran(0);
  EXPECT_EQ(rows(after), rows(again));
  EXPECT_EQ(after.timings, again.timings) << "nothing was run again";
  EXPECT_TRUE(std::includes(after.timings.begin(), after.timings.end(), before.timings.begin(),
                            before.timings.end()));
  // What was finished before its worker ended is not lost.
  deadly_k = 6;
  options.variants = {"host_naive", "workers_deadly"};
  std::vector<std::string> verdicts;
  for (const json& row : ran(2).results)
    if (row["case"] == "t/6") verdicts.push_back(row["verdict"]);
  EXPECT_EQ(verdicts, (std::vector<std::string>{again.results.at(6)["verdict"], "error"}));
  std::filesystem::remove_all(options.captures);
}

TEST_F(RunWorkers, WithoutAWorkerThereIsNoRun) {
  std::string reason;
  if (make_executor(Where::cuda, reason)) GTEST_SKIP() << "a device is here";
  options.device = DeviceChoice::cuda;
  options.selection_checked = true;
  try {
    ran(2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), "no worker can start: worker 1: --device cuda: " + reason);
  }
}

TEST(WorkerProcess, MessagesArriveWholeAndEndsAreNamed) {
  const std::string large(3 << 20, 'x');
  WorkerProcess echo([](Channel& channel) {
    while (const auto message = channel.receive()) channel.send(*message + "!");
  });
  EXPECT_TRUE(echo.channel().send("one"));
  EXPECT_EQ(echo.channel().receive(), "one!");
  EXPECT_TRUE(echo.channel().send(large));
  EXPECT_EQ(echo.channel().receive(), large + "!");
  WorkerProcess throws([](Channel&) { throw Error("planted"); });
  EXPECT_EQ(throws.channel().receive(), std::nullopt);
  EXPECT_EQ(throws.wait(), "ended with status 1");
  EXPECT_FALSE(throws.channel().send("anybody there"));
}

TEST(WorkerSeats, NumbersAreAmongTheVisibleGpus) {
  const auto visible = [](const Workers& w, int gpus, const std::string& now) {
    std::string list;
    for (const Seat& s : gpu_seats(w, gpus, now)) list += s.name + "=" + s.visible + " ";
    return list;
  };
  EXPECT_EQ(visible({true, {}, 0}, 2, ""), "GPU 0=0 GPU 1=1 ");
  EXPECT_EQ(visible({false, {3, 1}, 0}, 4, ""), "GPU 3=3 GPU 1=1 ");
  EXPECT_EQ(visible({false, {1}, 0}, 2, "5,GPU-8f1c"), "GPU 1=GPU-8f1c ");
  for (const auto& [gpus, words] : {std::pair{1, "only GPU 0"}, {4, "only GPUs 0 to 3"}}) {
    try {
      gpu_seats({false, {0, 7}, 0}, gpus, "");
      FAIL();
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(std::string("no GPU 7 here, ") + words));
    }
  }
}

TEST(WorkerSeats, RecordsAreOfTheWholeHost) {
  const Seat seat{"GPU 1", 1, "5"};
  json environment{{"device", {{"name", "X"}, {"index", 0}, {"uuid", "u1"}}},
                   {"variables", {{"CUDA_VISIBLE_DEVICES", "5"}}},
                   {"arithmetic_agrees", false},
                   {"arithmetic_reason", "planted"}};
  const json entry = device_entry(seat, environment);
  EXPECT_EQ(entry["index"], 1);
  EXPECT_EQ(entry["uuid"], "u1");
  EXPECT_EQ(entry["arithmetic_reason"], "planted");
  json other = environment;
  leave_seat(seat, environment);
  EXPECT_EQ(environment["device"]["index"], 1);
  const char* now = std::getenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(environment["variables"].value("CUDA_VISIBLE_DEVICES", ""), now ? now : "");
  // Another GPU of the kind may go on with the work; another kind may not.
  EXPECT_EQ(environment_fingerprint(environment), environment_fingerprint(other));
  EXPECT_EQ(environment_difference(environment, other), "");
  other["device"]["name"] = "Y";
  EXPECT_NE(environment_fingerprint(environment), environment_fingerprint(other));
  EXPECT_EQ(environment_difference(environment, other), "device/name is X and Y");
}

TEST(DeviceOption, IsReadOrRefused) {
  EXPECT_FALSE(parse_device("cuda").workers.any());
  EXPECT_TRUE(parse_device("cuda:all").workers.all_gpus);
  EXPECT_EQ(parse_device("cuda:2,0").workers.gpus, (std::vector<int>{2, 0}));
  EXPECT_EQ(parse_device("cuda:2,0").where, DeviceChoice::cuda);
  EXPECT_EQ(parse_device("cpu:4").workers.host, 4);
  EXPECT_EQ(parse_device("cpu:4").where, DeviceChoice::cpu);
  for (const char* bad : {"", "cuda:", "cuda:0,", "cuda:,1", "cuda:0,0", "cuda:-1", "cuda:x", "cuda:1 ",
                          "cpu:", "cpu:0", "cpu:2,3", "cuda:99999999999", "auto:2", "cuda0"})
    EXPECT_THROW(parse_device(bad), Error) << bad;
}

}  // namespace
}  // namespace ulpscope
