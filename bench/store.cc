// Measures commits of batches of rows to the store, and the checkpoint of these rows. The
// comparison, in the same run, writes the same rows directly to LMDB, with one synced transaction
// for each batch.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

constexpr size_t kRowsInABatch = 100;
constexpr size_t kRowBytes = 700;

/// A key of 20 bytes, like the key of an instance's row.
std::string key_of_row(uint64_t number) { return fmt::format("{:020}", number); }

template <class T>
T must(Result<T> result) {
  CHECK(result.has_value(), "{}", result.error().message);
  return take_value(std::move(result));
}

/// Writes one batch to disk.
using Commit = std::function<void(const WriteSet& rows)>;
/// Returns the rows of batch `n`.
using Batch = std::function<WriteSet(uint64_t n)>;

struct Took {
  double seconds = 0;
  std::vector<double> each;  ///< time of each batch, in milliseconds
};

Took run(uint64_t batches, const Batch& batch, const Commit& commit) {
  std::vector<WriteSet> all;
  for (uint64_t n = 0; n < batches; ++n) all.push_back(batch(n));
  Took took;
  const Stopwatch all_batches;
  for (const WriteSet& rows : all) {
    const Stopwatch one;
    commit(rows);
    took.each.push_back(one.seconds() * 1e3);
  }
  took.seconds = all_batches.seconds();
  return took;
}

void put_into(LmdbFile& file, const WriteSet& rows) {
  LmdbWriter writer = must(LmdbWriter::begin(file));
  for (const auto& [key, value] : rows) must(writer.write(key, value));
  must(writer.commit());
}

void compare(std::string_view what, uint64_t batches, const Batch& batch, Environment& environment,
             LmdbFile& lmdb) {
  const Took raw = run(batches, batch, [&](const WriteSet& rows) { put_into(lmdb, rows); });
  Took store;
  double rest = 0;
  {
    Transaction tx(environment);
    store = run(batches, batch, [&](const WriteSet& rows) {
      tx.replay(rows);
      must(tx.commit());
    });
    const Stopwatch watch;
    must(environment.checkpoint());
    rest = watch.seconds();
  }
  const auto line = [&](std::string_view by, const Took& took, std::string_view beside) {
    row(fmt::format("batches of {} rows {}, {}", kRowsInABatch, what, by),
        fmt::format("{:.0f}/s", static_cast<double>(batches) / took.seconds),
        fmt::format("p50 {:.2f} ms, p99 {:.2f} ms, longest {:.1f} ms{}", percentile(took.each, 0.5),
                    percentile(took.each, 0.99), percentile(took.each, 1), beside));
  };
  line("LMDB alone", raw, "");
  line("the store", store,
       fmt::format("; {:.2f} x, with {:.2f} s for the checkpoint {:.2f} x",
                   raw.seconds / store.seconds, rest, raw.seconds / (store.seconds + rest)));
}

void run_all(uint64_t rows, uint64_t batches) {
  const ScratchFolder folder = make_run_folder();
  const std::filesystem::path& scratch = folder.path();
  const std::filesystem::path beside = scratch / "lmdb";
  std::filesystem::create_directories(beside);
  const auto lmdb = must(LmdbFile::open(beside, uint64_t{1} << 38));
  const auto environment = must(Environment::open(scratch / "store"));

  const std::string value(kRowBytes, 'x');
  uint64_t next = 0;
  const Batch sequential = [&](uint64_t) {
    WriteSet set;
    for (size_t i = 0; i < kRowsInABatch; ++i) set.emplace("l" + key_of_row(next++), value);
    return set;
  };
  for (uint64_t done = 0; done < rows; done += 10 * kRowsInABatch) {
    WriteSet set;
    for (int i = 0; i < 10; ++i) set.merge(sequential(0));
    put_into(*lmdb, set);
    Transaction tx(*environment);
    tx.replay(set);
    must(tx.commit());
  }
  must(environment->checkpoint());

  compare("in the order of their keys", batches, sequential, *environment, *lmdb);
  const uint64_t there = next;
  std::mt19937_64 random(1);
  compare(
      fmt::format("at random over {} rows", there), batches,
      [&](uint64_t) {
        WriteSet set;
        while (set.size() < kRowsInABatch) {
          set.insert_or_assign("l" + key_of_row(random() % there), value);
        }
        return set;
      },
      *environment, *lmdb);
  // The rows are written like those of an outbox: each batch deletes the rows that the batch before
  // it wrote.
  compare(
      "that live for one batch", batches,
      [&](uint64_t n) {
        WriteSet set;
        for (size_t i = 0; i < kRowsInABatch; ++i) {
          set.emplace("o" + key_of_row(n * kRowsInABatch + i), value);
          if (n > 0) set.emplace("o" + key_of_row((n - 1) * kRowsInABatch + i), std::nullopt);
        }
        return set;
      },
      *environment, *lmdb);

  constexpr int kOpenings = 100;
  Took opened;
  for (int i = 0; i < kOpenings; ++i) {
    const Stopwatch one;
    must(Environment::open(scratch / fmt::format("new-{}", i)));
    opened.each.push_back(one.seconds() * 1e3);
  }
  row("a new store opened and closed", fmt::format("{:.2f} ms", percentile(opened.each, 0.5)),
      fmt::format("p99 {:.2f} ms", percentile(opened.each, 0.99)));
}

}  // namespace

void store() { run_all(1'000'000, 1'000); }

}  // namespace millrace
