// The numbers that stand on disk for something: each is pinned here, so that no later order of
// names changes what an old row says. A name without a number does not compile (-Wswitch); one that
// the reader does not take fails.
#include <array>
#include <set>

#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/records.h"
#include "orchestrator/store/rows/tables.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

int pinned(InstanceStatus status) {
  switch (status) {
    case InstanceStatus::kPending:
      return 0;
    case InstanceStatus::kRunning:
      return 1;
    case InstanceStatus::kWaiting:
      return 2;
    case InstanceStatus::kPaused:
      return 3;
    case InstanceStatus::kComplete:
      return 4;
    case InstanceStatus::kFailed:
      return 5;
    case InstanceStatus::kCancelled:
      return 6;
    case InstanceStatus::kTimedOut:
      return 7;
  }
  return -1;
}

int pinned(Phase phase) {
  switch (phase) {
    case Phase::kEntering:
      return 0;
    case Phase::kWaiting:
      return 1;
    case Phase::kLeaving:
      return 2;
    case Phase::kEnded:
      return 3;
  }
  return -1;
}

int pinned(TimerKind kind) {
  switch (kind) {
    case TimerKind::kStateTimeout:
      return 0;
    case TimerKind::kDelay:
      return 1;
    case TimerKind::kRetry:
      return 2;
    case TimerKind::kInterrupt:
      return 3;
    case TimerKind::kKill:
      return 4;
    case TimerKind::kRun:
      return 5;
    case TimerKind::kExecution:
      return 6;
    case TimerKind::kCalls:
      return 7;
  }
  return -1;
}

int pinned(Call::Status status) {
  switch (status) {
    case Call::Status::kQueued:
      return 0;
    case Call::Status::kRunning:
      return 1;
    case Call::Status::kBetween:
      return 2;
    case Call::Status::kDone:
      return 3;
    case Call::Status::kFailed:
      return 4;
  }
  return -1;
}

int pinned(HistoryKind kind) {
  switch (kind) {
    case HistoryKind::kStarted:
      return 0;
    case HistoryKind::kEntered:
      return 1;
    case HistoryKind::kWoken:
      return 2;
    case HistoryKind::kElapsed:
      return 3;
    case HistoryKind::kPublished:
      return 4;
    case HistoryKind::kLog:
      return 5;
    case HistoryKind::kRaised:
      return 6;
    case HistoryKind::kCaught:
      return 7;
    case HistoryKind::kFixed:
      return 8;
    case HistoryKind::kCancelled:
      return 9;
    case HistoryKind::kEnded:
      return 10;
    case HistoryKind::kCalled:
      return 11;
    case HistoryKind::kReturned:
      return 12;
    case HistoryKind::kRetrying:
      return 13;
    case HistoryKind::kTimedOut:
      return 14;
    case HistoryKind::kSkipped:
      return 15;
    case HistoryKind::kRun:
      return 16;
    case HistoryKind::kOutput:
      return 17;
    case HistoryKind::kPaused:
      return 18;
    case HistoryKind::kResumed:
      return 19;
    case HistoryKind::kRevived:
      return 20;
  }
  return -1;
}

int pinned(VariableScope scope) {
  switch (scope) {
    case VariableScope::kInstance:
      return 0;
    case VariableScope::kWorkflow:
      return 1;
    case VariableScope::kNamespace:
      return 2;
  }
  return -1;
}

int pinned(FileType type) {
  switch (type) {
    case FileType::kPlain:
      return 0;
    case FileType::kBase64:
      return 1;
    case FileType::kTar:
      return 2;
    case FileType::kTarGz:
      return 3;
  }
  return -1;
}

int pinned(ContainerSize size) {
  switch (size) {
    case ContainerSize::kSmall:
      return 0;
    case ContainerSize::kMedium:
      return 1;
    case ContainerSize::kLarge:
      return 2;
  }
  return -1;
}

int pinned(Predicate::Kind kind) {
  switch (kind) {
    case Predicate::Kind::kEquals:
      return 0;
    case Predicate::Kind::kPattern:
      return 1;
  }
  return -1;
}

int pinned(TimeoutKind kind) {
  switch (kind) {
    case TimeoutKind::kScheduleToClose:
      return 0;
    case TimeoutKind::kStartToClose:
      return 1;
    case TimeoutKind::kHeartbeat:
      return 2;
    case TimeoutKind::kScheduleToStart:
      return 3;
  }
  return -1;
}

int pinned(Counter counter) {
  switch (counter) {
    case Counter::kNamespace:
      return 'a';
    case Counter::kWorkflow:
      return 'b';
    case Counter::kHistory:
      return 'c';
    case Counter::kOutbox:
      return 'd';
    case Counter::kDelayed:
      return 'e';
    case Counter::kGrouped:
      return 'f';
    case Counter::kRecent:
      return 'g';
    case Counter::kInbox:
      return 'h';
    case Counter::kHook:
      return 'i';
  }
  return -1;
}

int pinned(Part part) {
  switch (part) {
    case Part::kHead:
      return 0;
    case Part::kInput:
      return 1;
    case Part::kData:
      return 2;
    case Part::kSlots:
      return 3;
    case Part::kFoundData:
      return 4;
    case Part::kCall:
      return 5;
    case Part::kFailedData:
      return 6;
  }
  return -1;
}

int pinned(Purge::Kind kind) {
  switch (kind) {
    case Purge::Kind::kNamespace:
      return 0;
    case Purge::Kind::kHistory:
      return 1;
    case Purge::Kind::kGroups:
      return 2;
  }
  return -1;
}

/// Each number from 0 on is that of one name, and the reader takes those and no others.
template <class E, class F>
void expect_pinned(const char* what, F round_trip) {
  int names = 0;
  for (int number = 0; number < 256; ++number) {
    const bool has_name = pinned(static_cast<E>(number)) >= 0;
    if (has_name) {
      EXPECT_EQ(pinned(static_cast<E>(number)), number) << what;
      ++names;
    }
    EXPECT_EQ(round_trip(static_cast<E>(number)), has_name) << what << " " << number;
  }
  EXPECT_GT(names, 1) << what;
}

TEST(StoredNumbers, OfHeadsArePinned) {
  expect_pinned<InstanceStatus>("status", [](InstanceStatus status) {
    const auto read = decode_head(encode_head({.status = status}));
    return read && read->status == status;
  });
  expect_pinned<Phase>("phase", [](Phase phase) {
    const auto read = decode_head(encode_head({.phase = phase}));
    return read && read->phase == phase;
  });
  expect_pinned<TimerKind>("timer", [](TimerKind kind) {
    const auto read = decode_head(encode_head({.timers = {{.kind = kind, .deadline = {}}}}));
    return read && read->timers.at(0).kind == kind;
  });
  expect_pinned<Predicate::Kind>("predicate", [](Predicate::Kind kind) {
    Instance head;
    head.listeners = {{.filter = {.type = "t", .predicates = {{.attribute = "a", .kind = kind}}}}};
    const auto read = decode_head(encode_head(head));
    return read && read->listeners.at(0).filter.predicates.at(0).kind == kind;
  });
}

TEST(StoredNumbers, OfCallsArePinned) {
  expect_pinned<Call::Status>("call", [](Call::Status status) {
    const auto read = decode_call(encode_call({.status = status}));
    return read && read->status == status;
  });
  EXPECT_EQ(kTimeoutKinds, 4U);
  for (const auto kind : {TimeoutKind::kScheduleToClose, TimeoutKind::kStartToClose,
                          TimeoutKind::kHeartbeat, TimeoutKind::kScheduleToStart}) {
    EXPECT_EQ(pinned(kind), static_cast<int>(kind));
    Call call;
    call.deadlines[static_cast<size_t>(kind)] = from_millis(5);
    EXPECT_EQ(decode_call(encode_call(call))->deadlines, call.deadlines);
  }
}

TEST(StoredNumbers, OfHistoryArePinned) {
  expect_pinned<HistoryKind>("history", [](HistoryKind kind) {
    const auto read = decode_history(encode(HistoryRow{.records = {{.kind = kind}}}));
    return read && read->records.at(0).kind == kind;
  });
  // None, text, that of the input.
  HistoryRow row{.records = {{}, {}, {}}, .with_input = {2}};
  row.records[1].data = LazyJson::of_text("7");
  const std::string bytes = encode(row);
  // Version, namespace, instance, row before, count; each record: time, kind, state, detail.
  const size_t head = 1 + 1 + 16 + 1 + 1;
  EXPECT_EQ(bytes.at(head + 4), 0);
  EXPECT_EQ(bytes.at(head + 5 + 4), 1);
  EXPECT_EQ(bytes.at(head + 5 + 5 + 2 + 4), 2);
}

TEST(StoredNumbers, OfTasksArePinned) {
  expect_pinned<ContainerSize>("size", [](ContainerSize size) {
    const auto read = decode_task(encode(StartTask{.runs = Container{.size = size}}));
    return read && std::get<Container>(read->runs).size == size;
  });
  expect_pinned<VariableScope>("scope", [](VariableScope scope) {
    StartTask task{.runs = NamedService{}};
    task.files = {{.key = "k", .scope = scope}};
    const auto read = decode_task(encode(task));
    return read && read->files.at(0).scope == scope;
  });
  expect_pinned<FileType>("file", [](FileType type) {
    StartTask task{.runs = NamedService{}};
    task.files = {{.key = "k", .type = type}};
    const auto read = decode_task(encode(task));
    return read && read->files.at(0).type == type;
  });
}

TEST(StoredNumbers, OfErrandsArePinned) {
  // Behind the version and listen-from.
  const auto kind_of = [](Errand errand) {
    return static_cast<int>(encode(InboxRecord{.errand = std::move(errand)}).at(2));
  };
  EXPECT_EQ(kind_of(StartChild{}), 0);
  EXPECT_EQ(kind_of(CancelChild{.at_once = true}), 1);
  EXPECT_EQ(kind_of(ReturnResult{}), 2);
  EXPECT_EQ(kind_of(CancelChild{.at_once = false}), 3);
  EXPECT_EQ(std::variant_size_v<Errand>, 3U) << "pin the new one here, and in records.cc";
}

class StoredKeys : public StoreTest {};

TEST_F(StoredKeys, OfCountersArePinned) {
  std::set<char> letters;
  for (int letter = 0; letter < 128; ++letter) {
    if (pinned(static_cast<Counter>(letter)) < 0) continue;
    EXPECT_EQ(pinned(static_cast<Counter>(letter)), letter);
    write_counter(*tx, static_cast<Counter>(letter), 7);
    EXPECT_TRUE(tx->get(Table::kMeta, std::string("counter/") + static_cast<char>(letter)));
    letters.insert(static_cast<char>(letter));
  }
  EXPECT_EQ(std::string(letters.begin(), letters.end()), "abcdefghi");
}

TEST_F(StoredKeys, OfPartsAndPurgesArePinned) {
  for (int number = 0; number <= 6; ++number) EXPECT_EQ(pinned(static_cast<Part>(number)), number);
  EXPECT_EQ(pinned(static_cast<Part>(7)), -1);
  for (int number = 0; number <= 2; ++number) {
    const auto kind = static_cast<Purge::Kind>(number);
    EXPECT_EQ(pinned(kind), number);
    write_purge(*tx, {.kind = kind, .number = 9, .record = {}});
    Writer key;
    key.raw("purge/");
    key.u8(static_cast<uint8_t>(number));
    key.u64(9);
    EXPECT_TRUE(tx->get(Table::kMeta, key.view()));
  }
  int purges = 0;
  EXPECT_TRUE(each_purge(*tx, [&](const Purge&) { ++purges; }));
  EXPECT_EQ(purges, 3);
}

TEST(StoredNumbers, OfTablesArePinned) {
  std::string bytes;
  for (const TableName& table : kTables) bytes.push_back(static_cast<char>(table.table));
  EXPECT_EQ(bytes, "mnwdlehgtoakrifqvscxpu");
}

}  // namespace
}  // namespace millrace
