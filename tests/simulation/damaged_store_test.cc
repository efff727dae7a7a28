// A store with rows of every kind. One row is damaged (a sealed row keeps a valid seal), as a fault
// of the disk or of a copy would damage it. millrace starts, or refuses to start with an error that
// names the row. A millrace that has started neither dies nor stops the instances without damage.
// Each case runs in a process of its own.
//
// MILLRACE_CASES=N runs N cases (0: all), MILLRACE_SEED chooses other cases, and
// MILLRACE_CASE="…" runs the case of that name in this process.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/damage_trial.h"
#include "tests/support/campaign.h"

namespace millrace {
namespace {

class DamagedStore : public testing::Test {
 protected:
  /// Runs one case in this process, which can run no other case afterwards; returns the complaints.
  static std::string try_out(DyingStore& base, const RowDamage& damage) {
    World& world = base.world();
    do_damage(world, base.rows(), damage);
    return DamageTrial(world, base.ids(), !is_of_canary(base.rows()[damage.row])).run();
  }

  /// Whether the row belongs to the canary, which is the first workflow.
  static bool is_of_canary(const DyingStore::Row& row) {
    const std::string definition = rows::workflow_prefix(WorkflowNumber(1));
    return (row.table == Table::kDefinitions && row.key.starts_with(definition)) ||
           (row.table == Table::kWorkflows && row.key.ends_with("canary"));
  }

  /// Runs one case in a process of its own; returns the complaints.
  std::string try_in_process(DyingStore& base, const RowDamage& damage) const {
    return run_in_process(base, [&] { return try_out(base, damage); });
  }

  /// Runs `attempt` in a process of its own with a copy of the store; returns its complaints.
  std::string run_in_process(DyingStore& base, const std::function<std::string()>& attempt) const {
    const std::filesystem::path folder = where_.path() / "case";
    std::filesystem::remove_all(folder);
    const std::filesystem::path said = where_.path() / "said";
    std::filesystem::remove(said);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(600);  // ends a process that hangs, however busy the machine is
      [[maybe_unused]] const auto* const file = std::freopen(said.c_str(), "w", stderr);
      base.world().copy_store_to(folder);
      const std::string complaints = attempt();
      std::fputs(complaints.c_str(), stderr);
      std::fflush(stderr);
      ::_exit(complaints.empty() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status == 0) return "";
    std::stringstream text;
    text << std::ifstream(said).rdbuf();
    if (WIFSIGNALED(status)) text << " (died of signal " << WTERMSIG(status) << ")";
    return text.str();
  }

  /// Sorts the damages in rounds of one damage for each row, so that long rows are not preferred.
  static std::vector<RowDamage> in_turns(std::vector<RowDamage> damages, std::mt19937_64& random) {
    std::shuffle(damages.begin(), damages.end(), random);
    std::map<size_t, size_t> seen;
    std::vector<std::pair<size_t, size_t>> order;  // the round, and the index of the damage
    for (size_t i = 0; i < damages.size(); ++i) order.emplace_back(seen[damages[i].row]++, i);
    std::sort(order.begin(), order.end());
    std::vector<RowDamage> sorted;
    for (const auto& [turn, i] : order) sorted.push_back(std::move(damages[i]));
    return sorted;
  }

  static uint64_t from_environment(const char* name, uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }

  Folder where_{std::filesystem::is_directory("/dev/shm/") ? "/dev/shm/" : testing::TempDir()};
};

TEST_F(DamagedStore, NeverEndsTheProcessAndStopsNoSoundInstance) {
  DyingStore base;
  std::vector<RowDamage> damages = RowDamages(base.rows()).take();
  if (const char* const only = std::getenv("MILLRACE_CASE"); only != nullptr) {
    for (const RowDamage& damage : damages) {
      if (damage.what != only) continue;
      spdlog::set_level(spdlog::level::info);
      base.world().copy_store_to(where_.path() / "case");
      EXPECT_EQ(try_out(base, damage), "");
      return;
    }
    FAIL() << "there is no such case";
  }
  std::mt19937_64 random(from_environment("MILLRACE_SEED", 1));
  damages = in_turns(std::move(damages), random);
  const size_t wanted = from_environment("MILLRACE_CASES", 150);
  if (wanted != 0) damages.resize(std::min(damages.size(), wanted));
  Campaign campaign("damaged rows", "no crash, sound instances continue, a named error");
  for (const RowDamage& damage : damages) {
    campaign.run(damage.what, [&] { EXPECT_EQ(try_in_process(base, damage), ""); });
  }
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Damages a random page of data.mdb: numbers that LMDB stores in the page, or the whole page.
/// `older` has the bytes of an earlier data.mdb.
void damage_page(std::string& bytes, const std::string& older, std::mt19937_64& random) {
  constexpr size_t kPage = 4096;
  const size_t pages = bytes.size() / kPage;
  const size_t page = random() % pages;
  const size_t other = random() % pages;
  const std::string before = bytes.substr(page * kPage, kPage);
  const auto number = [&](size_t at) {
    return static_cast<size_t>(static_cast<uint8_t>(before[at])) |
           static_cast<size_t>(static_cast<uint8_t>(before[at + 1])) << 8;
  };
  switch (random() % 8) {
    case 0:
      bytes.replace(page * kPage, kPage, kPage, '\0');
      break;
    case 1:
      bytes.replace(page * kPage, kPage, bytes, other * kPage, kPage);
      bytes.replace(other * kPage, kPage, before);
      break;
    case 2:
      if (page < older.size() / kPage)
        bytes.replace(page * kPage, kPage, older, page * kPage, kPage);
      break;
    default: {  // the header of the page, an offset, or the header of a node
      constexpr size_t kHead = 16;
      constexpr size_t kLower = 12;
      size_t at = random() % 152;
      const size_t lower = number(kLower);
      if (random() % 2 == 0 && lower > kHead && lower <= kPage) {
        at = kHead + random() % (lower - kHead);
        const size_t node = number(at & ~size_t{1});
        if (random() % 2 == 0 && node + 8 <= kPage) at = node + random() % 8;
      }
      char& byte = bytes[page * kPage + at];
      byte = static_cast<char>(byte ^ (1 + random() % 255));
    }
  }
}

TEST_F(DamagedStore, WithADamagedPageOpensOrIsRefusedAndNeverHangs) {
  DyingStore base;
  const size_t cases = from_environment("MILLRACE_CASES", 60);
  Campaign campaign("damaged pages", "no crash, no hang, a named error");
  for (size_t i = 0; i < (cases == 0 ? 5'000 : cases); ++i) {
    const auto attempt = [&]() -> std::string {
      std::mt19937_64 random(from_environment("MILLRACE_SEED", 1) * 1'000'000 + i);
      const std::filesystem::path file = where_.path() / "case" / "data.mdb";
      const std::string older = bytes_of(file);
      // To close the store writes all rows to data.mdb.
      if (!Environment::open(where_.path() / "case")) return "the sound store does not open";
      std::string bytes = bytes_of(file);
      damage_page(bytes, older, random);
      std::ofstream(file, std::ios::binary) << bytes;
      return DamageTrial(base.world(), base.ids()).run();
    };
    campaign.run(fmt::format("damaged page {}", i),
                 [&] { EXPECT_EQ(run_in_process(base, attempt), "") << "case " << i; });
  }
}

TEST_F(DamagedStore, CausesNoComplaintWithoutDamage) {
  DyingStore base;
  base.world().copy_store_to(where_.path() / "case");
  EXPECT_EQ(DamageTrial(base.world(), base.ids()).run(), "");
  std::set<Table> seen;
  for (const DyingStore::Row& row : base.rows()) seen.insert(row.table);
  for (const auto& [table, name, since] : kTables) {
    EXPECT_EQ(seen.contains(table), table != Table::kDeadLetters) << name;
  }
  std::set<uint8_t> queues;  // kinds of rows
  for (const DyingStore::Row& row : base.rows()) {
    if (row.table == Table::kQueues) queues.insert(static_cast<uint8_t>(row.key.front()));
  }
  for (auto kind = static_cast<uint8_t>(QueueRow::kCounts);
       kind <= static_cast<uint8_t>(QueueRow::kCallThrottlePaused); ++kind) {
    EXPECT_TRUE(queues.contains(kind)) << int{kind};
  }
}

}  // namespace
}  // namespace millrace
