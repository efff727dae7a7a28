#include "tests/simulation/cluster_world.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sodium.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "base/codec.h"
#include "orchestrator/backup/snapshot_loader.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/store_files.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

constexpr uint64_t kReserveBytes = uint64_t{64} << 10;

template <class T>
T value_of(Result<T> result) {
  CHECK(result.has_value(), "{}: {}", result.error().code, result.error().message);
  return take_value(std::move(result));
}

/// Applies the commits of the log from `first` to `last`, by their sequences.
void apply_log(const MemoryLog& log, uint64_t first, uint64_t last, RowsByKey& rows) {
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    const MemoryLog::Message* const message = log.known_at(sequence);
    CHECK(message != nullptr);
    CHECK(each_write(message->write_set, [&](std::string_view key, auto value) {
      const std::pair at(table_of(key), std::string(key_of(key)));
      if (value) {
        rows[at] = *value;
      } else {
        rows.erase(at);
      }
    }));
  }
}

/// The first rows in which the two stores differ; empty: they are equal.
std::string differences(const RowsByKey& found, const RowsByKey& expected) {
  constexpr size_t kMost = 5;
  std::set<RowsByKey::key_type> keys;
  const auto compare = [&](const RowsByKey& some, const RowsByKey& others) {
    for (const auto& [key, value] : some) {
      const auto other = others.find(key);
      if (other == others.end() || other->second != value) keys.insert(key);
    }
  };
  compare(found, expected);
  compare(expected, found);
  std::string text;
  size_t shown = 0;
  for (const auto& [table, key] : keys) {
    if (shown++ == kMost) break;
    text += fmt::format("{} {}\n", table_name(table), testing::PrintToString(key));
  }
  return text;
}

}  // namespace

// WorldNode.

WorldNode::WorldNode(ClusterWorld& world, uint8_t number, Duration offset)
    : world_(world), name_{number} {
  clock.jump(offset);
  // All nodes of a cluster have the same secret key.
  std::ofstream(folder_.path() / "secret-key") << std::string(64, 'a');
  recover();
}

WorldNode::~WorldNode() {
  if (is_active() || is_standby()) crash();
}

EnvironmentOptions WorldNode::store_options() {
  EnvironmentOptions options;
  // In memory, to reserve bytes is to write them.
  options.reserve_bytes = kReserveBytes;
  if (world_.change_store_options) world_.change_store_options(options);
  options.checkpoints_at_close = false;  // a process that dies makes no checkpoint
  options.waits_for_checkpoints = true;
  return options;
}

const Environment& WorldNode::environment() const {
  CHECK(is_active() || is_standby());
  return is_active() ? stage_->environment() : *environment_;
}

void WorldNode::recover() {
  CHECK(!is_active() && !is_standby());
  ended_.reset();
  lead_.reset();
  ++incarnations_;
  read_to_ = 0;
  environment_ = value_of(Environment::open(folder_.path(), store_options()));
  auto opened = LogFollower::open(*environment_);
  if (opened) {
    follower_ = *std::move(opened);
    return forget_read();
  }
  CHECK(opened.error().code == "store.joining", "{}", opened.error().message);
  environment_.reset();
  value_of(clear_store(folder_.path()));
  load_snapshot(SIZE_MAX);
}

void WorldNode::follow(size_t most) {
  if (world_.asks_others && !mend()) return;
  Status done = try_follow(most);
  if (!done && done.error().code == "log.trimmed") {
    join();
    if (world_.asks_others && !mend()) return;  // the snapshot has what the log has lost
    done = try_follow(most);
  }
  EXPECT_TRUE(done) << done.error().message;
}

void WorldNode::join(size_t most) {
  CHECK(is_standby());
  crash();
  read_to_ = 0;
  ++incarnations_;
  value_of(set_store_aside(folder_.path(), fmt::format("replaced-{}", ++replaced_)));
  if (!load_snapshot(most)) recover();
}

/// Loads the newest snapshot into the empty store. Returns false if the process has died, because
/// the snapshot has more than `most` chunks.
bool WorldNode::load_snapshot(size_t most) {
  const WorldSnapshot& snapshot = world_.newest_snapshot();
  log_rows_.clear();
  log_rows_to_ = 0;
  environment_ = value_of(Environment::open(folder_.path(), store_options()));
  auto loader = value_of(SnapshotLoader::begin(*environment_, snapshot.from, snapshot.to));
  for (const std::string& chunk : snapshot.chunks) {
    if (most-- == 0) {
      loader.reset();
      environment_.reset();
      return false;
    }
    value_of(loader->add(chunk));
  }
  value_of(loader->finish(snapshot.rows));
  loader.reset();
  follower_ = value_of(LogFollower::open_loading(*environment_));
  forget_read();
  ++loads;
  return true;
}

void WorldNode::read_chunk() {
  if (is_loading()) return;
  if (!rolling_) {
    rolling_.emplace(environment(), world_.chunk_bytes);
    chunks_.clear();
  }
  if (auto chunk = value_of(rolling_->next())) {
    chunks_.push_back(*std::move(chunk));
    return world_.pass(CrashPoint::kSnapshotPart);
  }
  world_.pass(CrashPoint::kSnapshotComplete);
  // A store without rows has nothing that a node could load.
  if (rolling_->from() != LogPosition()) {
    world_.snapshots.push_back(
        {std::move(chunks_), rolling_->from(), rolling_->to(), rolling_->rows()});
  }
  rolling_.reset();
}

Status WorldNode::try_follow(size_t most) {
  CHECK(is_standby());
  const std::vector<LogCommit> commits = TRY(world_.log.read(follower_->position(), most));
  TRY(follower_->apply(commits));
  if (commits.size() < most) read_to_ = world_.log.last_sequence();
  if (!is_ahead()) note_read(std::max(read_to_, follower_->position().sequence));
  return {};
}

bool WorldNode::take_over(bool is_careful) {
  CHECK(is_standby());
  const bool has_all = read_to_ == world_.log.last_sequence();
  if (world_.asks_others && has_all && plan().what != LogRecovery::What::kNone) return false;
  RandomName incarnation = name_;
  incarnation[1] = incarnations_;
  auto lead = world_.log.start_epoch(name_, incarnation, read_to_);
  if (!lead) {
    EXPECT_EQ(lead.error().code, "log.deposed") << lead.error().message;
    return false;
  }
  CHECK(!is_loading());
  lead_ = std::make_unique<Lead>(*this, *std::move(lead));
  note_read(world_.log.last_sequence());
  rolling_.reset();
  follower_.reset();
  environment_.reset();
  world_.pass(CrashPoint::kEpochOpened);
  world_.broker.stop();  // a former active reads no further events
  auto opened = open_stage(is_careful);
  if (opened) {
    stage_ = *std::move(opened);
    world_.pass(CrashPoint::kActive);
    return true;
  }
  EXPECT_TRUE(opened.error().code.starts_with("log.")) << opened.error().message;
  ++ends[opened.error().code];
  outlet_->die();
  recover();
  return false;
}

Result<std::unique_ptr<Stage>> WorldNode::open_stage(bool is_careful) {
  outlet_ = std::make_unique<ProcessOutlet>(world_.broker);
  const auto evaluate = [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
    if (!outlet_->alive()) return;
    evaluator.submit(std::move(evaluation), outlet_->guard<EvaluationResult>(std::move(done)));
  };
  ProcessorOptions processor;
  processor.on_log_error = [this](const Error& error) { ended_ = error; };
  processor.is_careful = is_careful;
  return Stage::open({.folder = folder_.path(),
                      .clock = clock,
                      .broker = world_.broker,
                      .brokers_clock = world_.brokers_clock,
                      .publisher = *outlet_,
                      .functions = world_.functions,
                      .webhooks = world_.receivers,
                      .evaluate = evaluate,
                      .make_id = [this](TimePoint now) { return world_.make_id(now); },
                      .id_key = "the key of the ids",
                      .store = store_options(),
                      .log = lead_.get(),
                      .processor = processor});
}

bool WorldNode::step(size_t most) {
  const bool moved = stage_->step(most);
  restart_if_ended();
  return moved;
}

void WorldNode::turn() {
  stage_->processor().turn();
  restart_if_ended();
}

void WorldNode::run_until_idle() {
  const Status done = stage_->run_until_idle();
  EXPECT_TRUE(done) << done.error().message;
  restart_if_ended();
}

void WorldNode::restart_if_ended() {
  if (ended_) restart();
}

Answered WorldNode::command(Command command) {
  auto answered = std::make_shared<std::optional<Result<Json>>>();
  stage_->intake().command(std::move(command),
                           outlet_->guard<Result<Json>>(
                               [answered](Result<Json> result) { *answered = std::move(result); }));
  return answered;
}

Answered WorldNode::start(const std::string& workflow, Json input, std::string key) {
  return command(StartInstance{.ns = "default",
                               .workflow = workflow,
                               .input = std::move(input),
                               .idempotency_key = std::move(key)});
}

void WorldNode::crash() {
  if (outlet_) outlet_->die();
  if (ended_) ++ends[ended_->code];
  if (!is_loading()) {
    world_.expect_sound_rows(value_of(Snapshot::take(environment())));
  }
  rolling_.reset();
  stage_.reset();
  follower_.reset();
  environment_.reset();
  evaluator.forget();
}

void WorldNode::mute() {
  CHECK(is_active());
  outlet_->die();
}

void WorldNode::crash_after_commit() {
  mute();
  stage_->processor().turn();
  crash();
}

RowsByKey WorldNode::rows() const { return all_rows(value_of(Snapshot::take(environment()))); }

LogPosition WorldNode::position() const {
  const Snapshot view = value_of(Snapshot::take(environment()));
  const auto row = view.get(Table::kMeta, kLogKey);
  return row ? value_of(decode_log_position(*row)) : LogPosition();
}

void WorldNode::expect_rows_of_log() {
  if (is_loading()) return;
  const LogPosition last = position();
  ASSERT_GE(last.sequence, log_rows_to_) << "a store never loses a commit";
  const MemoryLog::Message* const message = world_.log.known_at(last.sequence);
  ASSERT_TRUE(last.sequence == 0 || message != nullptr) << "the log has or had what a store has";
  apply_log(world_.log, log_rows_to_ + 1, last.sequence, log_rows_);
  log_rows_to_ = last.sequence;
  if (last.sequence > 0) {
    EXPECT_EQ(message->position, last) << "a store has another history than the log";
    log_rows_[{Table::kMeta, std::string(kLogKey)}] = encode(last);
  }
  EXPECT_EQ(differences(rows(), log_rows_), "") << "at sequence " << last.sequence;
}

// ClusterWorld.

ClusterWorld::ClusterWorld(const std::vector<Duration>& offsets, uint64_t seed) : random_(seed) {
  spdlog::set_level(spdlog::level::off);  // faults here are deliberate
  for (const Duration offset : offsets) {
    const auto number = static_cast<uint8_t>(nodes_.size() + 1);
    nodes_.push_back(std::make_unique<WorldNode>(*this, number, offset));
  }
}

void ClusterWorld::advance(Duration by) {
  clock.advance(by);
  for (const auto& node : nodes_) node->clock.advance(by);
}

void ClusterWorld::run_for(WorldNode& active, Duration time) {
  active.run_until_idle();
  while (time > Duration(0)) {
    const Duration step = std::min(time, active.stage().next_due().value_or(time));
    advance(step);
    time -= step;
    active.run_until_idle();
  }
}

const WorldSnapshot& ClusterWorld::newest_snapshot() const {
  CHECK(!snapshots.empty());
  return *std::max_element(
      snapshots.begin(), snapshots.end(),
      [](const auto& one, const auto& two) { return one.from.sequence < two.from.sequence; });
}

void ClusterWorld::publish(std::string type, std::string id, const Json& data,
                           std::map<std::string, AttributeValue> extensions) {
  const Event event = outside_event(std::move(type), std::move(id), data, std::move(extensions));
  broker.inject(message_to_publish("the key of another publisher", "default", event));
}

InstanceId ClusterWorld::make_id(TimePoint now) {
  // No two nodes make the same id.
  std::array<uint8_t, 10> randomness{};
  ++last_id_;
  for (size_t i = 0; i < 4; ++i) {
    randomness[2 + i] = static_cast<uint8_t>(last_id_ >> (24 - 8 * i));
    randomness[6 + i] = static_cast<uint8_t>(random_());
  }
  return make_instance_id(now, randomness);
}

void ClusterWorld::expect_sound_rows(const View& view) {
  // The check depends on the rows alone, and the nodes have the same rows.
  Writer writer;
  for (const auto& [key, value] : all_rows(view)) {
    writer.u8(static_cast<uint8_t>(key.first));
    writer.bytes(key.second);
    writer.bytes(value);
  }
  RandomName hash;
  crypto_generichash(hash.data(), hash.size(),
                     reinterpret_cast<const unsigned char*>(writer.view().data()),
                     writer.view().size(), nullptr, 0);
  if (!checked_.insert(hash).second) return;
  expect_sound(view, "at the end of a process of a cluster");
}

void ClusterWorld::pass(CrashPoint point) const {
  if (on_point) on_point(point);
}

void ClusterWorld::expect_sound_log() const {
  std::set<RandomName> incarnations;
  CommitName last;
  uint64_t engine_time = 0;
  for (const MemoryLog::Message& message : log.messages()) {
    const CommitName& name = message.position.name;
    if (message.is_part) continue;
    if (message.is_commit()) {
      EXPECT_EQ(name.epoch, last.epoch);
      EXPECT_EQ(name.incarnation, last.incarnation) << "an epoch belongs to one incarnation";
      EXPECT_EQ(name.commit, last.commit + 1);
    } else {
      EXPECT_EQ(name.epoch, last.epoch + 1);
      EXPECT_TRUE(incarnations.insert(name.incarnation).second) << "it has one epoch";
    }
    last = name;
    EXPECT_TRUE(each_write(message.write_set, [&](std::string_view key, auto value) {
      if (key != "mtime" || !value) return;
      const uint64_t time = Reader(*value).u64();
      EXPECT_GE(time, engine_time) << "engine time goes back in epoch " << name.epoch;
      engine_time = time;
    }));
  }
}

}  // namespace millrace
