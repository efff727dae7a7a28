// ClusterSnapshots on a real nats-server: behind which snapshots it has the log trimmed.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster_snapshots.h"
#include "base/bytes.h"
#include "broker/snapshot_stream.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tests/unit/broker/log_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A log of twelve messages, and two snapshots of it, which are not younger than their rest.
class SnapshotTrims : public JetStreamLogFixture {
 protected:
  SnapshotTrims() {
    const Result<StreamInfo> made = ensure_stream(*connection_, stream_);
    EXPECT_TRUE(made) << made.error().message;
    const std::unique_ptr<JetStreamLog> log = active(1);
    for (int i = 0; i < 11; ++i) EXPECT_TRUE(log->append("a"));
    publish(1, 4);  // its chunks are at 1 and 2
    publish(2, 8);
    auto store = Environment::open(folder_.path() / "data", {});
    EXPECT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }

  void publish(uint8_t number, uint64_t from) {
    SnapshotWriter writer(*connection_, stream_, kTestLogKey, to_hex(random_name_of(number)));
    for (const char* const chunk : {"one", "two"}) EXPECT_TRUE(writer.add(chunk));
    const LogPosition position{.sequence = from, .name = {.epoch = 1, .commit = from - 1}};
    EXPECT_TRUE(writer.finish({.from = position,
                               .to = position,
                               .rows = {{"meta", 2}},
                               .format = kTestLogFormat,
                               .node = to_hex(random_name_of(1)),
                               .version = "1"}));
  }
  void remove_of_snapshots(uint64_t sequence) {
    const Json answer = client_->api("STREAM.MSG.DELETE." + stream_.name, {{"seq", sequence}});
    EXPECT_FALSE(answer.contains("error")) << answer;
  }

  /// The code of the error with which the first look of an active at the streams has ended; empty:
  /// it has had the log trimmed.
  std::string look() {
    ClusterSnapshots snapshots(
        *store_, *connection_,
        {.log = log_, .snapshots = stream_, .key = kTestLogKey, .least_bytes = UINT64_MAX},
        {.state = [] { return ClusterSnapshots::State{.is_active = true, .is_ready = true}; },
         .trim =
             [this](int64_t, uint64_t before) {
               const std::lock_guard lock(mutex_);
               trims_.push_back(before);
             }});
    std::string code;
    EXPECT_TRUE(eventually([&] {
      const Json view = snapshots.view();
      if (view.contains("error")) code = view["error"]["code"].get<std::string>();
      return !code.empty() || !trims().empty();
    }));
    return code;
  }
  /// Before which sequences the log was to be trimmed.
  std::vector<uint64_t> trims() {
    const std::lock_guard lock(mutex_);
    return trims_;
  }

 private:
  const StreamSettings stream_ = snapshot_stream("shop");
  Folder folder_;
  std::unique_ptr<Environment> store_;
  std::mutex mutex_;
  std::vector<uint64_t> trims_;
};

TEST_F(SnapshotTrims, AreBehindTheSnapshotBeforeTheNewest) {
  EXPECT_EQ(look(), "");
  EXPECT_THAT(trims(), ElementsAre(5));
}

TEST_F(SnapshotTrims, AreNotBehindASnapshotThatCannotBeReadBack) {
  remove_of_snapshots(2);
  EXPECT_EQ(look(), "snapshot.damaged");
  EXPECT_THAT(trims(), IsEmpty());
}

}  // namespace
}  // namespace millrace
