#include "scenarios/stage.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "orchestrator/definition/loader.h"
#include "orchestrator/service/archive_lines.h"

namespace millrace {
namespace {

/// The maximum number of rounds until idle; more than any correct execution needs.
constexpr int kMostRounds = 100'000;

/// How many rounds without work must follow each other, while messages are in transit, until the
/// stage counts as idle. A PublishFate delays a message by that many rounds at most.
constexpr int kQuietRounds = 16;

}  // namespace

Stage::Stage(StageParts parts)
    : parts_(std::move(parts)),
      intake_(parts_.intake),
      early_events_(stored_events_, {}, parts_.feeds_searches ? &early_event_feed_ : nullptr) {}

Result<std::unique_ptr<Stage>> Stage::open(StageParts parts) {
  std::unique_ptr<Stage> stage(new Stage(std::move(parts)));
  StageParts& given = stage->parts_;
  stage->environment_ = TRY(Environment::open(given.folder, given.store));
  if (given.log != nullptr) stage->environment_->lead(*given.log);
  stage->processor_ = std::make_unique<Processor>(
      ProcessorParts{
          .engine = {.environment = *stage->environment_,
                     .clock = given.clock,
                     .publisher = given.publisher,
                     .functions = given.functions,
                     .webhooks = given.webhooks,
                     .definitions = stage->definitions_,
                     .make_id = given.make_id,
                     .id_key = given.id_key.value_or(stage->environment_->seal().id_key()),
                     .started_tasks = stage->started_tasks_},
          .intake = stage->intake_,
          .evaluate = given.evaluate,
          .find_early = stage->early_event_finder(),
          .archive = stage->archiver(),
          .metrics = stage->metrics_},
      given.processor);
  TRY(cut_archives(TRY(Snapshot::take(*stage->environment_)), given.folder / kArchiveFolder));
  TRY(stage->processor_->load());
  given.broker.start(stage->processor_->cursor(), stage->early_event_feed_);
  return stage;
}

/// Writes each page at once.
Archiver Stage::archiver() {
  return [this](const ArchivePage& page, const std::function<void(ArchivedPage)>& done) {
    done(write_page(parts_.folder / kArchiveFolder, page, archive_lines(*environment_, queries_)));
  };
}

Stage::~Stage() { parts_.broker.stop(early_event_feed_); }

bool Stage::step(size_t most) {
  const bool moved = parts_.broker.pump(most);
  const bool reported = parts_.functions.pump(intake_);
  const bool searched = search_early_events();
  return processor_->turn() || moved || reported || searched;
}

EarlyEventFinder Stage::early_event_finder() {
  return [this](LookBack asked, EarlyEventSearch::Done done) {
    early_events_.ask(std::move(asked), std::move(done));
  };
}

/// Does one portion of the search; a portion that fails, because the broker is away, is repeated in
/// a later round. Returns whether it did anything.
bool Stage::search_early_events() {
  return early_events_.has_work() && early_events_.turn(parts_.clock.elapsed()).has_value();
}

Status Stage::run_until_idle() {
  int quiet = 0;
  for (int rounds = 0; quiet < (parts_.broker.next_deadline() ? kQuietRounds : 1); ++rounds) {
    if (rounds == kMostRounds)
      return fail("stage.restless", "the millrace of the scenario does not become idle");
    if (parts_.give_up && parts_.give_up()) return fail("stage.given_up", "the test took too long");
    quiet = step() ? 0 : quiet + 1;
  }
  return {};
}

std::optional<Duration> Stage::next_due() const {
  std::optional<Duration> next;
  const auto sooner = [&](Duration wait) {
    // A deadline that has passed without an effect waits for something other than time, so
    // next_due() ignores that deadline.
    if (wait > Duration(0)) next = std::min(next.value_or(wait), wait);
  };
  if (const auto wake = processor_->next_wake()) sooner(*wake);
  if (const auto deadline = parts_.broker.next_deadline()) {
    sooner(*deadline - parts_.brokers_clock.now());
  }
  if (const auto deadline = parts_.functions.next_deadline()) {
    sooner(*deadline - parts_.clock.now());
  }
  return next;
}

Result<Json> Stage::command(Command command) {
  const auto answer = std::make_shared<std::optional<Result<Json>>>();
  intake_.command(std::move(command),
                  [answer](Result<Json> result) { *answer = std::move(result); });
  TRY(run_until_idle());
  if (!*answer) return fail("stage.unanswered", "the command was not answered");
  return std::move(**answer);
}

Result<std::vector<Json>> Stage::instances(std::string_view workflow) {
  const Snapshot view = TRY(Snapshot::take(*environment_));
  InstanceFilter filter{.workflow = std::string(workflow),
                        .limit = std::numeric_limits<size_t>::max()};
  std::vector<Json> all;
  while (true) {
    Json page = TRY(queries_.instances(view, "default", filter));
    for (Json& item : page["items"]) all.push_back(std::move(item));
    if (!page["next"].is_string()) break;
    filter.cursor = page["next"].get<std::string>();
  }
  std::reverse(all.begin(), all.end());
  return all;
}

Result<Json> Stage::instance(std::string_view id) {
  const Snapshot view = TRY(Snapshot::take(*environment_));
  return queries_.instance(view, "default", TRY(parse_instance_id(id)));
}

Result<Json> Stage::history(std::string_view id) {
  const Snapshot view = TRY(Snapshot::take(*environment_));
  const InstanceId instance = TRY(parse_instance_id(id));
  HistoryFilter filter;
  Json all = Json::array();
  while (true) {
    Json page = TRY(queries_.history(view, "default", instance, filter));
    for (Json& record : page["items"]) all.push_back(std::move(record));
    if (!page["next"].is_string()) return all;
    filter.cursor = page["next"].get<std::string>();
  }
}

}  // namespace millrace
