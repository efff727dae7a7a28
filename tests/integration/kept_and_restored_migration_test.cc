// A server that migrates a large store of an older format is killed at random moments, until the
// migration is done. Then all instances and their index are as after a migration without a kill.
// MILLRACE_KILLS and MILLRACE_SEED: see kill_series.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "tests/integration/filled_store.h"
#include "tests/integration/kill_series.h"
#include "tests/support/older_store.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoBroker = "nats://127.0.0.1:1";  // no server listens there

/// Whether the table has rows of instances, or the index of the instances.
bool is_migrated(Table table) {
  constexpr Table kMigrated[] = {Table::kLive,     Table::kEnded,  Table::kHistory,
                                 Table::kByStatus, Table::kCounts, Table::kUsage};
  return std::find(std::begin(kMigrated), std::end(kMigrated), table) != std::end(kMigrated);
}

/// The rows of the tables that a migration changes.
RowsByKey migrated_rows(const fs::path& folder) {
  RowsByKey rows = rows_in_folder(folder);
  std::erase_if(rows, [](const auto& row) { return !is_migrated(row.first.first); });
  return rows;
}

/// The keys of the rows of instances.
std::set<RowsByKey::key_type> keys_of_instances(const RowsByKey& rows) {
  std::set<RowsByKey::key_type> keys;
  for (const auto& [place, value] : instance_rows_of(rows)) keys.insert(place);
  return keys;
}

/// A store of an older format, and what a migration without a kill makes of it.
struct OlderStore {
  fs::path folder;
  RowsByKey migrated;  ///< see migrated_rows()
  Duration whole{};    ///< the time from the start of the server to the end of the migration
};

class MigrationKills : public testing::Test {
 protected:
  /// The store of that format; made and migrated once, on a copy, when it is first needed.
  const OlderStore& older(uint64_t format) {
    const auto [at, is_new] = stores_.try_emplace(format);
    if (!is_new) return at->second;
    OlderStore& store = at->second;
    store.folder = folder_.path() / fmt::format("format-{}", format);
    store_.copy_to(store.folder);
    {
      const auto environment = Environment::open(store.folder).value();
      Transaction tx(*environment);
      make_older(tx, format);
      const Status made = tx.commit();
      EXPECT_TRUE(made) << made.error().message;
    }
    MillraceServer server(kNoBroker);
    fs::copy(store.folder, server.data(), fs::copy_options::recursive);
    store.whole = time_of_operation([&] {
      server.launch();
      EXPECT_TRUE(server.process().error_line("the index is complete"));
    });
    server.wait_until_it_listens();
    server.stop();
    store.migrated = migrated_rows(server.data());
    EXPECT_TRUE(keys_of_instances(rows_in_folder(server.data())) ==
                keys_of_instances(store_.rows()))
        << "the migration without a kill has changed which rows the instances have";
    const Usage usage = usage_in(server.data());
    EXPECT_EQ(usage.live, store_.live());
    EXPECT_EQ(usage.ended, store_.ended());
    return store;
  }

  /// Where the kill came, by what the folder has.
  static KillPlace place_in(const fs::path& folder, uint64_t older_format) {
    const auto environment = Environment::open(folder, {.read_only = true}).value();
    const Snapshot view = Snapshot::take(*environment).value();
    const uint64_t format = read_format(view).value().value_or(0);
    if (format == older_format) return KillPlace::kBefore;
    EXPECT_EQ(format, kStoreFormat);
    return is_index_incomplete(view) ? KillPlace::kDuring : KillPlace::kAfter;
  }

  /// Expects the instances of the store, and names the first one that differs.
  void expect_listed(const std::vector<Json>& listed) const {
    const std::vector<Json>& kept = store_.instances();
    ASSERT_EQ(listed.size(), kept.size());
    const auto [found, was] = std::mismatch(listed.begin(), listed.end(), kept.begin());
    EXPECT_TRUE(found == listed.end()) << *found << "\nwas " << *was;
  }

  /// Starts the server without a kill and compares what it has.
  void expect_all(MillraceServer& server, const OlderStore& store) const {
    server.start();
    const std::vector<Json> listed = server.instances("");
    expect_listed(listed);
    server.stop();
    EXPECT_TRUE(migrated_rows(server.data()) == store.migrated) << "the migrated rows differ";
  }

  NatsServer nats_;
  FilledStore store_{nats_, {.done = 7'000, .waiting = 3'000}};
  Folder folder_;
  std::map<uint64_t, OlderStore> stores_;  ///< by format
};

TEST_F(MigrationKills, LoseNoInstanceAndLeaveACompleteIndex) {
  KillSeries series("migration", "the instances and the index of a migration without a kill");
  size_t turn = series.up_to(std::size(kOlderFormats) - 1);
  while (series.goes_on()) {
    const uint64_t format = kOlderFormats[turn++ % std::size(kOlderFormats)];
    const OlderStore& store = older(format);
    MillraceServer server(kNoBroker);
    fs::copy(store.folder, server.data(), fs::copy_options::recursive);
    for (KillPlace place{}; place != KillPlace::kAfter && series.goes_on();) {
      place = series.run(fmt::format("format {}", format), store.whole, [&](Duration moment) {
        server.launch();
        server.kill_after(moment);
        return place_in(server.data(), format);
      });
    }
    expect_all(server, store);
  }
}

}  // namespace
}  // namespace millrace
