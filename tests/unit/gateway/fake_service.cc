#include "tests/unit/gateway/fake_service.h"

#include <fmt/format.h>

#include "orchestrator/definition/removed_settings.h"
#include "states/workflow.h"

namespace millrace {
Json FakeService::instance_json(const std::string& id, const std::string& status) {
  Json instance = {{"id", id},
                   {"workflow", "order"},
                   {"revision", 1},
                   {"status", status},
                   {"state", "wait"},
                   {"startedAt", "2021-09-01T12:00:00.000Z"},
                   {"input", Json::object()},
                   {"data", Json::object()},
                   {"attempt", 0},
                   {"transitions", 1}};
  if (status == "complete") instance["output"] = {{"total", 7}};
  if (status == "failed") instance["error"] = {{"code", "order.lost"}, {"msg", "it is lost"}};
  return instance;
}

Json FakeService::instance_head(const std::string& id) {
  Json head = instance_json(id, "waiting");
  for (const char* const member : {"input", "data", "attempt", "transitions"}) {
    head.erase(member);
  }
  return head;
}

void FakeService::end_at_once(const std::string& status) {
  const std::lock_guard lock(mutex_);
  instance_status = status;
  wait_outcome = Status();
}

void FakeService::end_instances(const std::string& status) {
  const std::lock_guard lock(mutex_);
  instance_status = status;
  for (auto& waiter : waiters_) answers_.push_back([done = std::move(waiter)] { done({}); });
  waiters_.clear();
  changed_.notify_all();
}

void FakeService::await_waiters(size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiters_.size() >= count; });
}

void FakeService::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void FakeService::release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  changed_.notify_all();
}

void FakeService::await_held() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return held_ && !answers_.empty(); });
}

void FakeService::hold_checks() {
  const std::lock_guard lock(mutex_);
  holds_checks_ = true;
}

void FakeService::release_checks() {
  const std::lock_guard lock(mutex_);
  holds_checks_ = false;
  changed_.notify_all();
}

void FakeService::await_checks(size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return checks_ >= count; });
}

std::vector<Event> FakeService::published() {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::vector<StartInstance> FakeService::starts() {
  const std::lock_guard lock(mutex_);
  return starts_;
}

std::optional<Duration> FakeService::last_wait() {
  const std::lock_guard lock(mutex_);
  return waits_.empty() ? std::nullopt : std::optional(waits_.back());
}

std::vector<Duration> FakeService::waits() {
  const std::lock_guard lock(mutex_);
  return waits_;
}

InstanceFilter FakeService::last_filter() {
  const std::lock_guard lock(mutex_);
  return filter_;
}

HistoryFilter FakeService::last_history_filter() {
  const std::lock_guard lock(mutex_);
  return history_filter_;
}

DeleteInstances FakeService::last_deletion() {
  const std::lock_guard lock(mutex_);
  return deletion_;
}

std::optional<DropPendingStarts> FakeService::last_drop() {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

RetryInstance FakeService::last_retry() {
  const std::lock_guard lock(mutex_);
  return retry_;
}

RerunInstance FakeService::last_rerun() {
  const std::lock_guard lock(mutex_);
  return rerun_;
}

CompensateInstance FakeService::last_compensate() {
  const std::lock_guard lock(mutex_);
  return compensate_;
}

size_t FakeService::last_limit() {
  const std::lock_guard lock(mutex_);
  return limit_;
}

bool FakeService::has_workflow(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return workflows_.contains(id);
}

void FakeService::verify(Done done) {
  const std::lock_guard lock(mutex_);
  answer_later([done = std::move(done), report = store_report] { done(report); });
}

void FakeService::command(Command command, Done done) {
  const std::lock_guard lock(mutex_);
  Result<Json> answer = command_error ? Result<Json>(tl::unexpected(*command_error))
                                      : std::visit([&](auto& c) { return take(c); }, command);
  answer_later([done = std::move(done), answer] { done(answer); });
}

void FakeService::wait_for_end(std::string, InstanceId, Duration at_most, const CallerMark&,
                               std::function<void(Status)> done) {
  const std::lock_guard lock(mutex_);
  waits_.push_back(at_most);
  if (!first_wait_outcomes.empty()) {
    answer_later(
        [done = std::move(done), outcome = first_wait_outcomes.front()] { done(outcome); });
    first_wait_outcomes.pop_front();
  } else if (wait_outcome) {
    answer_later([done = std::move(done), outcome = *wait_outcome] { done(outcome); });
  } else {
    waiters_.push_back(std::move(done));
    changed_.notify_all();
  }
}

Loaded FakeService::load_definition(std::string_view text, std::string_view) {
  {
    std::unique_lock lock(mutex_);
    ++checks_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !holds_checks_; });
    --checks_;
  }
  Loaded loaded;
  if (text.find("broken") != std::string_view::npos) {
    loaded.findings.error("definition.unknown_key", "states[0].broken", {2, 7},
                          "there is no such key");
    return loaded;
  }
  if (text.find("doubtful") != std::string_view::npos) {
    loaded.findings.warning("lint.doubt", "states[0]", {2, 7}, "hardly", "mend it");
    loaded.findings.note("lint.note", "states[0]", {2, 8}, "by the way", "keep it");
  }
  if (text.find("type: unmade") != std::string_view::npos) {
    loaded.findings.warning("lint.event_unknown", "start.event.type", {2, 7}, "unmade", "mend it");
  }
  auto workflow = std::make_shared<Workflow>();
  const size_t at = text.find("id: ");
  if (at != std::string_view::npos) {
    workflow->id = text.substr(at + 4, text.find_first_of("\r\n", at) - at - 4);
  }
  loaded.workflow = std::move(workflow);
  return loaded;
}

void FakeService::publish_events(std::string ns, std::vector<Event> events,
                                 std::function<void(Result<Accepted>)> done) {
  const std::lock_guard lock(mutex_);
  Result<Accepted> result = Accepted{};
  if (const Status known = check(ns); !known) {
    result = tl::unexpected(known.error());
  } else if (publish_error) {
    result = tl::unexpected(*publish_error);
  } else {
    for (Event& event : events) {
      if (!seen_.insert(event.source + " " + event.id).second) ++result->duplicates;
      ++result->accepted;
      published_.push_back(std::move(event));
    }
  }
  answer_later([done = std::move(done), result] { done(result); });
}

void FakeService::receive(const InboundRequest& request,
                          std::function<void(Result<InboundAnswer>)> done) {
  const std::lock_guard lock(mutex_);
  received_.push_back(request);
  answer_later([done = std::move(done), answer = inbound_answer] { done(answer); });
}

std::vector<InboundRequest> FakeService::received() {
  const std::lock_guard lock(mutex_);
  return received_;
}

void FakeService::answer_task(CallbackRequest request, Done done) {
  const std::lock_guard lock(mutex_);
  callbacks_.push_back(std::move(request));
  answer_later([done = std::move(done), answer = callback_answer] { done(answer); });
}

Result<Json> FakeService::take(AnswerTask& answer) {
  if (const Status known = check(answer.ns); !known) return tl::unexpected(known.error());
  task_answers_.push_back(answer);
  return callback_answer;
}

std::vector<AnswerTask> FakeService::answers() {
  const std::lock_guard lock(mutex_);
  return task_answers_;
}

std::vector<CallbackRequest> FakeService::callbacks() {
  const std::lock_guard lock(mutex_);
  return callbacks_;
}

Result<Json> FakeService::find_instance(const InstanceId& id) const {
  if (to_string(id) == kInstance) {
    Json instance = instance_json(kInstance, instance_status);
    instance["input"] = instance_input;
    if (!instance_cancelling.is_null()) instance["cancelling"] = instance_cancelling;
    return instance;
  }
  return fail("instance.not_found", "there is no instance " + to_string(id));
}

Status FakeService::check(std::string_view ns) const {
  if (spaces_.contains(ns)) return {};
  return fail("namespace.not_found", "there is no namespace " + std::string(ns));
}

Result<Json> FakeService::no_workflow(std::string_view id) {
  return fail("workflow.not_found", "there is no workflow " + std::string(id));
}

Result<Json> FakeService::no_schedule(std::string_view id) {
  return fail("schedule.not_found", fmt::format("workflow \"{}\" has no schedule", id));
}

Result<Json> FakeService::take(TriggerSchedule& trigger) {
  if (trigger.workflow != "report") return no_schedule(trigger.workflow);
  return Json{{"id", kInstance}};
}

Result<Json> FakeService::take(CancelInstance& cancel) {
  if (const Result<Json> known = find_instance(cancel.instance); !known) return known;
  return Json{{"id", to_string(cancel.instance)}, {"cancelled", !refuses_changes}};
}

Result<Json> FakeService::take(DropPendingStarts& drop) {
  dropped_ = drop;
  return Json{{"dropped", pending_starts}};
}

Result<Json> FakeService::act(const InstanceId& id, Json answer) {
  if (const Result<Json> known = find_instance(id); !known) return known;
  answer["id"] = to_string(id);
  return answer;
}

Result<Json> FakeService::take(RetryInstance& one) {
  retry_ = one;
  return act(one.instance, {{"run", 1}});
}

Result<Json> FakeService::take(RerunInstance& one) {
  rerun_ = one;
  return act(one.instance, {{"run", 2}});
}

Result<Json> FakeService::take(CompensateInstance& one) {
  compensate_ = one;
  return act(one.instance, {{"left", 1}});
}

Result<Json> FakeService::take(PauseWorkflow& pause) {
  if (!workflows_.contains(pause.id)) return no_workflow(pause.id);
  if (pause.paused) {
    paused_.insert(pause.id);
  } else {
    paused_.erase(pause.id);
  }
  return Json{{"id", pause.id}, {"paused", pause.paused}, {"changed", 0}};
}

Result<Json> FakeService::take(PauseService& pause) {
  if (const Status known = check(pause.ns); !known) return tl::unexpected(known.error());
  return Json{{"name", pause.name}, {"paused", pause.paused}, {"changed", true}};
}

Result<Json*> FakeService::find_webhook(const std::string& ns, std::string_view name) {
  TRY(check(ns));
  if (const auto settings = settings_.find(ns); settings != settings_.end()) {
    Json& webhooks = settings->second["hooks"];
    const auto found = webhooks.find(name);
    if (found != webhooks.end()) return &*found;
  }
  return fail("hooks.not_found",
              "the namespace has no inbound webhook \"" + std::string(name) + "\"");
}

Result<Json> FakeService::take(PauseInboundWebhook& pause) {
  Json& webhook = *TRY(find_webhook(pause.ns, pause.name));
  const bool was_paused = webhook.value("paused", false);
  webhook["paused"] = pause.paused;
  return Json{
      {"name", pause.name}, {"paused", pause.paused}, {"changed", was_paused != pause.paused}};
}

Result<Json> FakeService::take(DeleteInboundWebhook& remove) {
  TRY(find_webhook(remove.ns, remove.name));
  settings_[remove.ns]["hooks"].erase(remove.name);
  return Json{{"name", remove.name}, {"deleted", true}};
}

Result<Json> FakeService::take(DropGroup& drop) {
  if (const Status known = check(drop.ns); !known) return tl::unexpected(known.error());
  if (drop.id != kGroup) return fail("group.not_found", "no events wait in such a group");
  return Json{{"id", drop.id}, {"dropped", 1}};
}

Result<Json> FakeService::take(RemoveNode& remove) {
  if (remove.node != RandomName{1}) {
    return fail("cluster.node_not_found", "the cluster has another registered node");
  }
  return Json{{"nodes", Json::array()}};
}

Result<Json> FakeService::take(DeleteInstance& remove) {
  if (const Result<Json> known = find_instance(remove.instance); !known) return known;
  return Json{{"id", to_string(remove.instance)}, {"deleted", true}};
}

Result<Json> FakeService::take(DeleteInstances& remove) {
  if (const Status known = check(remove.ns); !known) return tl::unexpected(known.error());
  deletion_ = remove;
  return Json{{"deleting", remove.workflow != "unused"}};
}

Result<Json> FakeService::take(CreateNamespace& create) {
  const bool has_settings = create.settings && create.settings->is_object();
  const Json webhooks = has_settings ? create.settings->value("hooks", Json()) : Json();
  for (const auto& [name, webhook] : webhooks.items()) {
    if (dump_json(webhook).find(R"(["none"])") == std::string::npos) continue;
    return fail("settings.invalid", "hooks." + name + ".verify.secrets[0]: no such secret");
  }
  Json answer{{"name", create.name}, {"created", spaces_.insert(create.name).second}};
  // The tests of the help's examples have an event in each file, also in that of the settings.
  if (has_settings && !create.settings->contains("specversion")) {
    Json removed = removed_settings(settings_[create.name], *create.settings);
    if (!removed.empty()) answer["removed"] = std::move(removed);
    settings_[create.name] = *create.settings;
  }
  if (create.settings && create.settings->contains("services")) {
    answer["warnings"] = {{{"path", "services.a.maxRuntime"}, {"message", "write 30s"}}};
  }
  return answer;
}

Result<Json> FakeService::take(ApplyWorkflow& apply) {
  if (const Status known = check(apply.ns); !known) return tl::unexpected(known.error());
  auto& texts = workflows_[apply.workflow->id];
  const bool changed = texts.empty() || texts.back() != apply.text;
  if (changed) texts.push_back(apply.text);
  return Json{{"id", apply.workflow->id}, {"revision", texts.size()}, {"changed", changed}};
}

std::string FakeService::owner_of(const VariablePlace& place) {
  const std::string instance = place.instance ? to_string(*place.instance) : "";
  return place.ns + "/" + place.workflow + "/" + instance + "/";
}

Result<Json> FakeService::take(PutVariable& put) {
  if (const Status known = check(put.place.ns); !known) return tl::unexpected(known.error());
  variables_[owner_of(put.place) + put.key] = put.value;
  return Json{
      {"key", put.key}, {"size", put.value.bytes.size()}, {"contentType", put.value.content_type}};
}

Result<Json> FakeService::take(DeleteVariable& remove) {
  if (variables_.erase(owner_of(remove.place) + remove.key) == 0) {
    return fail("variable.not_found", "there is no variable " + remove.key);
  }
  return Json{{"key", remove.key}, {"deleted", true}};
}

Result<Json> FakeService::take(PutSecret& put) {
  if (const Status known = check(put.ns); !known) return tl::unexpected(known.error());
  return Json{{"name", put.name},
              {"created", secrets_.insert_or_assign(put.name, put.value).second}};
}

Result<Json> FakeService::take(DeleteSecret& remove) {
  if (secrets_.erase(remove.name) == 0) {
    return fail("secret.not_found", "there is no secret " + remove.name);
  }
  return Json{{"name", remove.name}, {"deleted", true}};
}

Result<Json> FakeService::take(StartInstance& start) {
  if (batches_starts && !start.idempotency_key.empty()) {
    return fail("start.key_with_batch", "a batch keeps no key");
  }
  if (batches_starts) {
    return Json{{"id", kInstance}, {"created", true}, {"startsAt", "2021-09-01T12:05:00.000Z"}};
  }
  if (!workflows_.contains(start.workflow)) return no_workflow(start.workflow);
  if (const auto known = keys_.find(start.idempotency_key);
      !start.idempotency_key.empty() && known != keys_.end()) {
    if (known->second != start.input) return fail("start.conflict", "another input");
    return Json{{"id", kInstance}, {"created", false}};
  }
  keys_[start.idempotency_key] = start.input;
  starts_.push_back(start);
  return Json{{"id", kInstance}, {"created", true}};
}

void FakeService::answer_later(std::function<void()> answer) {
  answers_.push_back(std::move(answer));
  changed_.notify_all();
}

void FakeService::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || (!held_ && !answers_.empty()); });
    if (answers_.empty()) return;
    const std::function<void()> answer = std::move(answers_.front());
    answers_.pop_front();
    lock.unlock();
    answer();
    lock.lock();
  }
}

}  // namespace millrace
