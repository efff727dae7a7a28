#include "tests/tables/call_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "base/check.h"
#include "orchestrator/outgoing/task_files.h"
#include "orchestrator/service/callback_body.h"

namespace millrace {
namespace {

/// Longer values are shown by their number of bytes.
constexpr size_t kMostShownBytes = 60;

template <class T>
T value_of(Result<T> result) {
  CHECK(result.has_value(), "{}: {}", result.error().code, result.error().message);
  return take_value(std::move(result));
}

/// `pay` has workers, `convert` is an HTTP service and `scan` a NATS service.
Json settings_of_services() {
  return {{"services",
           {{"convert", {{"url", "http://convert.test/"}}}, {"scan", {{"request", "test.scan"}}}}}};
}

std::string shown_bytes(std::string_view bytes) {
  if (!is_utf8(bytes)) return "";
  if (bytes.size() > kMostShownBytes) return fmt::format(" of {} bytes", bytes.size());
  return bytes.empty() ? " of 0 bytes" : fmt::format(" {}", bytes);
}

std::string code_of_call(const Status& status) { return status ? "ok" : status.error().code; }

std::string shown_call(const Json& call) {
  std::string text = call.at("status").get<std::string>();
  if (call.contains("progress")) {
    text += fmt::format(", progress{}", shown_bytes(dump_json(call.at("progress"))));
  }
  return text;
}

}  // namespace

CallRun::CallRun(World& world, MakeService make_service, std::string yaml, Json input)
    : world_(world),
      make_service_(std::move(make_service)),
      yaml_(std::move(yaml)),
      input_(std::move(input)),
      workflow_(load_right_workflow(yaml_)->id),
      files_(folder_.path() / "calls",
             [&world](const InstanceId& task) -> Result<bool> {
               const Snapshot view = TRY(Snapshot::take(world.environment()));
               return awaits_files(view, task);
             }),
      data_(dump_json(input_)) {
  world_.must(CreateNamespace{.name = "default", .settings = settings_of_services()});
  world_.apply(yaml_);
  service_ = make_service_(files_);
}

CallRun::~CallRun() = default;

void CallRun::begin(Duration since_start, std::string input) {
  CHECK(since_start >= elapsed(), "the time goes back");
  rows_.push_back({.at = shown_time(run_start() + since_start), .input = std::move(input)});
  answer_ = nullptr;
  has_died_ = false;
  world_.run_for(since_start - elapsed());
  settle();
}

void CallRun::finish(Death death) {
  if (death != Death::kNone) die(death);
  settle();
  note_answer();
  if (id_) note_history();
  note_variables();
  if (id_) note_instance();
  TraceRow& row = rows_.back();
  if (row.does.empty()) row.does.emplace_back("-");
}

void CallRun::enter() {
  const Json started = world_.start(workflow_, input_);
  id_ = *parse_instance_id(started.at("id").get<std::string>());
}

void CallRun::report(const TaskName& task, decltype(TaskReport::what) what) {
  files_.report({.task = tasks_.at(task.number - 1), .what = std::move(what)});
  take_reports();
}

void CallRun::call_back(const TaskName& task, AnsweredBy by, std::string_view verb,
                        std::string body, bool has_key) {
  auto what = read_callback_body(verb, std::move(body));
  if (!what) return note("answered " + what.error().code);
  answer_ = std::make_shared<std::optional<Result<Json>>>();
  const auto take = [answer = answer_](Result<Json> came) { *answer = std::move(came); };
  const InstanceId id = tasks_.at(task.number - 1);
  if (by == AnsweredBy::kOperator) {
    return world_.intake().command(
        AnswerTask{.ns = "default", .task = id, .what = *std::move(what), .by = by}, take);
  }
  const std::string key =
      has_key ? files_.key_of(id, task.delivery) : AttemptKeys("another").key_of(id);
  service_->answer_task({.ns = "default",
                         .key = fmt::format("{}.{}", to_string(id), key),
                         .what = *std::move(what),
                         .by = by},
                        take);
}

void CallRun::command(Command command) {
  answer_ = std::make_shared<std::optional<Result<Json>>>();
  world_.intake().command(std::move(command),
                          [answer = answer_](Result<Json> came) { *answer = std::move(came); });
}

CallAccess CallRun::access_to(const TaskName& task) const {
  const InstanceId& id = tasks_.at(task.number - 1);
  return {.task = id, .key = files_.key_of(id, task.delivery)};
}

void CallRun::list_files(const TaskName& task) {
  const Result<Json> list = files_.list(access_to(task));
  if (!list) return note("answered " + list.error().code);
  std::vector<std::string> names;
  for (const Json& item : list->at("items")) {
    names.push_back(fmt::format("{} ({}{})", item.at("name").get<std::string>(),
                                item.at("size").get<uint64_t>(),
                                item.at("executable") == true ? ", executable" : ""));
  }
  note(fmt::format("has the files {}", fmt::join(names, ", ")));
}

void CallRun::read_file(const TaskName& task, std::string_view name) {
  const auto source = files_.read(access_to(task), name);
  if (!source) return note("answered " + source.error().code);
  note(fmt::format("reads{}", shown_bytes(value_of((*source)->next((*source)->size())))));
}

Status CallRun::write_one(const CallAccess& access, const std::string& name,
                          std::string_view bytes) {
  const std::shared_ptr<FileSink> sink = TRY(files_.write(access, name, false));
  TRY(sink->write(bytes));
  return sink->finish();
}

void CallRun::write_file(const TaskName& task, const std::string& name, std::string_view bytes,
                         size_t times) {
  const CallAccess access = access_to(task);
  if (times == 1) return note("answered " + code_of_call(write_one(access, name, bytes)));
  for (size_t i = 1; i <= times; ++i) {
    const Status done = write_one(access, fmt::format("{}{}", name, i), bytes);
    if (!done) return note(fmt::format("answered {} at number {}", done.error().code, i));
  }
  note("answered ok");
}

/// Runs the engine and the files until nothing more happens at this time.
void CallRun::settle() {
  do {
    world_.run_until_idle();
  } while (pass_on());
}

/// Passes what the engine hands out and stops to the files, and their reports to the engine.
/// Returns whether there was anything.
bool CallRun::pass_on() {
  bool any = false;
  const std::vector<InstanceId>& handed_out = world_.functions.handed_out();
  for (; handed_out_ < handed_out.size(); ++handed_out_) {
    hand_out(handed_out[handed_out_]);
    any = true;
  }
  const std::vector<Task>& kept = world_.functions.kept();
  for (; kept_ < kept.size(); ++kept_) {
    note("keeps the files of " + name_of(kept[kept_].id));
    files_.keep_files(kept[kept_]);
    any = true;
  }
  const std::vector<InstanceId>& stopped = world_.functions.stopped();
  for (; stopped_ < stopped.size(); ++stopped_) {
    note("stops " + name_of(stopped[stopped_]));
    files_.stop(stopped[stopped_]);
    any = true;
  }
  return take_reports() || any;
}

bool CallRun::take_reports() {
  bool any = false;
  for (TaskReport& report : files_.take_reports()) {
    world_.intake().report(std::move(report), nullptr);
    any = true;
  }
  return any;
}

void CallRun::die(Death death) {
  has_died_ = true;
  take_reports();
  service_.reset();
  if (death == Death::kBefore) {
    world_.crash();
  } else {
    world_.crash_after_commit();
  }
  world_.recover();
  files_.restart();
  service_ = make_service_(files_);
}

void CallRun::hand_out(const InstanceId& id) {
  const auto& tasks = world_.functions.tasks();
  const auto task =
      std::find_if(tasks.begin(), tasks.end(), [&](const Task& one) { return one.id == id; });
  CHECK(task != tasks.end(), "a task is handed out that the runner does not have");
  const bool is_new = std::find(tasks_.begin(), tasks_.end(), id) == tasks_.end();
  if (is_new) tasks_.push_back(id);
  note(fmt::format("hands out {}{}: {} {}{}{}", name_of(id), is_new ? "" : " again", task->function,
                   task->input, task->attempt > 1 ? fmt::format(", attempt {}", task->attempt) : "",
                   task->progress.empty() ? "" : fmt::format(", progress {}", task->progress)));
  files_.run(*task);
}

std::string CallRun::name_of(const InstanceId& task) const {
  const auto found = std::find(tasks_.begin(), tasks_.end(), task);
  return found == tasks_.end() ? "unknown" : std::to_string(found - tasks_.begin() + 1);
}

/// What the request of the row was answered, before what else the row shows.
void CallRun::note_answer() {
  if (!answer_) return;
  std::string line = "not answered";
  if (*answer_ && !has_died_) {
    const Result<Json>& answer = **answer_;
    line = "answered " + (answer ? std::string("ok") : answer.error().code);
  }
  auto& does = rows_.back().does;
  does.insert(does.begin(), std::move(line));
}

/// The time of a record as the span since the start.
std::string CallRun::shown_at(const Json& time) const {
  const TimePoint at = value_of(parse_rfc3339(time.get<std::string>()));
  return shown_time(run_start() + (at - (world_.clock.now() - elapsed())));
}

/// The states that were entered, and the records that no other part of the trace shows.
void CallRun::note_history() {
  const Json items = world_.history_items(to_string(*id_));
  std::vector<std::string> entered;
  for (; records_ < items.size(); ++records_) {
    const Json& item = items[records_];
    const std::string kind = item.at("kind");
    const Json detail = item.value("detail", Json());
    const auto text = [&](const char* member) { return detail.at(member).get<std::string>(); };
    if (kind == "entered") {
      entered.push_back(item.at("state"));
    } else if (kind == "raised" || kind == "fixed" || kind == "cancelled") {
      note(fmt::format("{} {}", kind == "raised" ? "raises" : kind, text("code")));
    } else if (kind == "caught") {
      note("caught by " + text("error"));
    } else if (kind == "timedout") {
      note("times out with " + text("code"));
    } else if (kind == "returned") {
      note(fmt::format("returned{}{}", detail.contains("code") ? " " + text("code") : "",
                       detail.contains("by") ? " by " + text("by") : ""));
    } else if (kind == "retrying") {
      note("retries at " + shown_at(detail.at("at")));
    }
  }
  if (!entered.empty()) rows_.back().state = fmt::format("{}", fmt::join(entered, " > "));
}

void CallRun::note_variables() {
  const Snapshot view = value_of(Snapshot::take(world_.environment()));
  std::map<std::string, std::string> now;
  std::vector<std::pair<std::string_view, VariablePlace>> places{
      {"workflow", {.ns = "default", .workflow = workflow_, .instance = {}}},
      {"namespace", {.ns = "default", .workflow = "", .instance = {}}}};
  if (id_) places.push_back({"instance", {.ns = "default", .workflow = "", .instance = id_}});
  for (const auto& [scope, place] : places) {
    const Json page = value_of(world_.queries().variables(view, place, 100, ""));
    for (const Json& item : page.at("items")) {
      const std::string key = item.at("key");
      const auto value = world_.queries().variable(view, place, key);
      now[fmt::format("{} {}", scope, key)] =
          value ? fmt::format("({}){}", value->content_type, shown_bytes(value->bytes))
                : value.error().code;
    }
  }
  for (const auto& [name, value] : now) {
    const auto before = variables_.find(name);
    if (before != variables_.end() && before->second == value) continue;
    note(fmt::format("sets {} {}", name, value));
  }
  for (const auto& [name, value] : variables_) {
    if (!now.contains(name)) note("deletes " + name);
  }
  variables_ = std::move(now);
}

/// The calls, the data and the end, as far as they have changed; and the columns of the row. An
/// error is in the data too, but `raises` shows it.
void CallRun::note_instance() {
  const Json shown = world_.instance(to_string(*id_));
  std::map<size_t, std::string> calls;
  const Json list = shown.value("calls", Json::array());
  for (size_t i = 0; i < list.size(); ++i) {
    calls[i] = shown_call(list[i]);
    if (calls_[i] != calls[i]) note(fmt::format("[{}] {}", i, calls[i]));
  }
  calls_ = std::move(calls);
  Json without_error = shown.at("data");
  if (without_error.is_object()) without_error.erase("error");
  std::string data = dump_json(without_error);
  if (data != data_) note("data " + data);
  data_ = std::move(data);
  TraceRow& row = rows_.back();
  row.status = shown.at("status").get<std::string>();
  if (row.state.empty()) row.state = shown.value("state", "");
  const bool has_ended = shown.contains("endedAt") && !shown.at("endedAt").is_null();
  if (has_ended && !has_ended_ && shown.contains("error")) {
    note("ends with " + shown.at("error").at("code").get<std::string>());
  }
  has_ended_ = has_ended;
}

}  // namespace millrace
