// LocalService: the store check, which runs on its own thread.
#include <atomic>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "orchestrator/service/local_service.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;

/// Blocks a thread in hold() until open() is called.
class Gate {
 public:
  void hold() {
    is_reached_ = true;
    is_reached_.notify_all();
    is_open_.wait(false);
  }
  void wait_until_reached() const { is_reached_.wait(false); }
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }

 private:
  std::atomic<bool> is_reached_ = false;
  std::atomic<bool> is_open_ = false;
};

TEST_F(LocalServiceTest, ChecksTheStoreAsTheLatestCommitLeftIt) {
  world.apply(kWaits);
  world.start("waits");
  const Result<Json> report = verify().get();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->at("sound"), true);
  EXPECT_GT(report->at("rows").at("live"), 0);
}

TEST_F(LocalServiceTest, ReportsADamagedRowOfTheStore) {
  restart_with([](Transaction& tx) { tx.put(Table::kVariables, "damaged", "damaged"); });
  const Result<Json> report = verify().get();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->at("sound"), false);
  EXPECT_EQ(report->at("items")[0]["table"], "variables");
}

TEST_F(LocalServiceTest, ReportsAStoreThatCannotBeRead) {
  on_read = [] { return true; };
  const Result<Json> report = verify().get();
  on_read = nullptr;
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->at("codes").contains("store.damaged")) << *report;
}

TEST_F(LocalServiceTest, ReadsNoRowIfAPageIsDamaged) {
  world.stored_bytes();  // moves all rows into the file
  world.checks_store = false;
  const auto path = world.environment().folder() / "data.mdb";
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  constexpr size_t kPage = 4'096;
  for (uint64_t page = 2; (page + 1) * kPage <= bytes.size(); ++page) {
    uint64_t number = 0;  // a page that was written begins with its number
    std::memcpy(&number, bytes.data() + page * kPage, sizeof number);
    if (number == page) file.seekp(static_cast<std::streamoff>(page * kPage)).put('\x7f');
  }
  file.close();
  bool has_read = false;
  on_read = [&] { return has_read = true; };
  const Result<Json> report = verify().get();
  on_read = nullptr;
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->at("sound"), false);
  EXPECT_GT(report->at("codes").at("store.damaged"), 0);
  EXPECT_FALSE(has_read);
}

TEST_F(LocalServiceTest, RunsOneStoreCheckAtATime) {
  Gate gate;
  on_read = [&] {
    gate.hold();
    return false;
  };
  auto first = verify();
  gate.wait_until_reached();
  EXPECT_EQ(code_of(verify().get()), "busy");
  gate.open();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(verify().get()) << "the next check may start now";
}

/// Waits until a thread of this process sleeps or has ended.
void wait_until_asleep(pid_t thread) {
  const std::string path = fmt::format("/proc/self/task/{}/stat", thread);
  while (true) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos || text[name_end + 2] == 'S') return;
    std::this_thread::yield();
  }
}

TEST_F(LocalServiceTest, StopsTheStoreCheckInItsDestructor) {
  constexpr int kMoreThanOneStep = 5'000;  // rows; the check asks between steps whether to continue
  restart_with([](Transaction& tx) {
    const VariableOwner owner{.scope = VariableScope::kNamespace, .ns = NamespaceNumber(1)};
    for (int i = 0; i < kMoreThanOneStep; ++i)
      write_variable(tx, {owner, fmt::format("k{}", i)}, {});
  });
  Gate gate;
  on_read = [&] {
    gate.hold();
    return false;
  };
  auto report = verify();
  gate.wait_until_reached();
  std::atomic<pid_t> ending = 0;
  std::thread end([&] {
    ending = ::gettid();
    ending.notify_all();
    service.reset();
  });
  ending.wait(0);
  wait_until_asleep(ending);  // it waits for the check
  EXPECT_NE(report.wait_for(seconds(0)), std::future_status::ready);
  gate.open();
  end.join();
  EXPECT_EQ(report.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_EQ(code_of(report.get()), "stopping");
}

}  // namespace
}  // namespace millrace
