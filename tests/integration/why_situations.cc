#include "tests/integration/why_situations.h"

#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace millrace {
namespace {

using testing::HasSubstr;

const Headers& event_headers() {
  static const Headers headers = {{"Content-Type", "application/cloudevents+json"}};
  return headers;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string summary_of(const Json& judged) {
  std::string text = judged.value("verdict", "none");
  if (!judged.contains("predicates")) return text;
  for (const Json& one : judged["predicates"]) {
    if (one.at("holds") == false) return text + " " + one.value("hint", "-");
  }
  return text;
}

void SituationRunner::run(const Situation& situation) {
  SCOPED_TRACE(situation.name);
  situation_ = &situation;
  instances_.clear();
  tried_.reset();
  if (!situation.definition.empty()) apply("", situation.definition);
  for (const SituationStep& step : situation.steps) step(*this);
  check();
  if (has_settings_) set_settings(Json::object());
  has_settings_ = false;
}

std::string SituationRunner::filled_in(std::string text) const {
  replace_all(text, "NAME", situation_->name);
  if (instances_.empty()) return text;
  replace_all(text, "ID", instances_.back());
  replace_all(text, "FIRST", instances_.front());
  return text;
}

void SituationRunner::apply(std::string_view suffix, const std::string& definition) const {
  std::string text = fmt::format("id: NAME{}\n{}", suffix, definition);
  replace_all(text, "NAME", situation_->name);
  millrace_.apply(text);
}

void SituationRunner::start(const Json& input, std::string_view status) {
  instances_.push_back(millrace_.start_instance(situation_->name, input));
  if (!status.empty()) millrace_.instance_once(instances_.back(), status);
}

void SituationRunner::reach(std::string_view state) const {
  EXPECT_TRUE(eventually(
      [&] { return millrace_.instance(instances_.back()).value("state", "") == state; }));
}

void SituationRunner::end(std::string_view status) const {
  millrace_.instance_once(instances_.back(), status);
}

Json SituationRunner::new_event(const Json& members, std::string_view suffix) {
  Json event = {{"specversion", "1.0"},
                {"id", fmt::format("e-{}", ++events_)},
                {"source", "bank.eu"},
                {"type", situation_->name + std::string(suffix)}};
  event.update(members);
  return event;
}

void SituationRunner::send(const Json& members, std::string_view suffix, bool is_asked) {
  const uint64_t before = asked_;
  last_ = new_event(members, suffix);
  const HttpReply reply = millrace_.ask("POST", "events", dump_json(last_), event_headers());
  EXPECT_EQ(reply.status, 202) << reply.body;
  await_applied();
  if (!is_asked) asked_ = before;
}

void SituationRunner::publish(const std::string& bytes) {
  client_.publish(filled_in("millrace.events.default.NAME"), bytes);
  client_.flush();
  await_applied();
}

void SituationRunner::replay(const std::string& query) {
  const std::string path = fmt::format("events/{}/replay?{}", asked_, filled_in(query));
  const HttpReply reply = millrace_.ask("POST", path);
  EXPECT_EQ(reply.status, 202) << reply.body;
  await_applied();
}

/// The newest event of the stream is the one that is asked about, when it is applied.
void SituationRunner::await_applied() {
  asked_ = ++sequence_;
  tried_.reset();
  EXPECT_TRUE(eventually([&] {
    return millrace_.get("events?limit=1")["newest"] == sequence_ && answer()["applied"] == true;
  }));
}

void SituationRunner::try_event(const Json& event) {
  const std::string query = instances_.empty() ? "" : filled_in("&instance=ID");
  const HttpReply reply =
      millrace_.ask("POST", "events/try?limit=100" + query, dump_json(event), event_headers());
  EXPECT_EQ(reply.status, 200) << reply.body;
  tried_ = reply.json();
}

void SituationRunner::request(std::string_view method, const std::string& path,
                              const std::string& body) {
  const HttpReply reply = millrace_.ask(method, filled_in(path), body);
  EXPECT_EQ(reply.status, 200) << method << " " << path << ": " << reply.body;
}

void SituationRunner::drop_group() {
  const std::vector<Json> groups = millrace_.items(filled_in("groups?workflow=NAME"));
  ASSERT_EQ(groups.size(), 1U);
  request("DELETE", "groups/" + groups[0].at("id").get<std::string>());
}

void SituationRunner::await_verdict(std::string_view verdict) {
  EXPECT_TRUE(eventually([&] { return judged().value("verdict", "") == verdict; })) << judged();
}

void SituationRunner::set_settings(const Json& settings) {
  request("PUT", "/v1/ns/default", dump_json(settings));
  has_settings_ = true;
}

/// The answer about the event that is asked about.
Json SituationRunner::answer() const {
  if (tried_) return *tried_;
  const std::string query = instances_.empty() ? "" : filled_in("&instance=ID");
  return millrace_.get(fmt::format("events/{}/why?limit=100{}", asked_, query));
}

/// What the answer has about the listener; an empty object: nothing.
Json SituationRunner::listener_in(const Json& answer) const {
  for (const Json& one : answer.at("near")) {
    const bool is_it =
        instances_.empty()
            ? one.at("kind") == "start" && one.at("workflow") == situation_->name
            : one.at("kind") == "instance" && one.at("instance") == instances_.back();
    if (is_it) return one;
  }
  return Json::object();
}

Json SituationRunner::judged() const { return listener_in(answer()); }

void SituationRunner::check() {
  const Json one = judged();
  EXPECT_EQ(summary_of(one), situation_->expected) << one;
  EXPECT_THAT(one.value("says", ""), HasSubstr(situation_->says));
  for (const auto& [name, value] : situation_->members.items()) {
    EXPECT_EQ(one.value(name, Json()), value) << one;
  }
  if (tried_ || instances_.empty()) return;
  const Json from_instance =
      millrace_.get(filled_in(fmt::format("instances/ID/why?event={}", asked_)));
  EXPECT_EQ(summary_of(from_instance.at("events").at(0)), situation_->expected) << from_instance;
}

namespace steps {

SituationStep applies(std::string definition, std::string suffix) {
  return [definition = std::move(definition), suffix = std::move(suffix)](SituationRunner& runner) {
    runner.apply(suffix, definition);
  };
}

SituationStep starts(Json input, std::string status) {
  return [input = std::move(input), status = std::move(status)](SituationRunner& runner) {
    runner.start(input, status);
  };
}

SituationStep waits(std::string order) {
  return [order = std::move(order)](SituationRunner& runner) {
    runner.start({{"order", order}}, "waiting");
  };
}

SituationStep reaches(std::string state) {
  return [state = std::move(state)](SituationRunner& runner) { runner.reach(state); };
}

SituationStep ends(std::string status) {
  return [status = std::move(status)](SituationRunner& runner) { runner.end(status); };
}

SituationStep sends(Json members, std::string suffix) {
  return [members = std::move(members), suffix = std::move(suffix)](SituationRunner& runner) {
    runner.send(members, suffix, true);
  };
}

SituationStep sends_other(Json members, std::string suffix) {
  return [members = std::move(members), suffix = std::move(suffix)](SituationRunner& runner) {
    runner.send(members, suffix, false);
  };
}

SituationStep copies() {
  return [](SituationRunner& runner) { runner.publish(dump_json(runner.last_event())); };
}

SituationStep replays(std::string query) {
  return [query = std::move(query)](SituationRunner& runner) { runner.replay(query); };
}

SituationStep tries(Json members, std::string suffix) {
  return [members = std::move(members), suffix = std::move(suffix)](SituationRunner& runner) {
    runner.try_event(runner.new_event(members, suffix));
  };
}

SituationStep tries_copy() {
  return [](SituationRunner& runner) { runner.try_event(runner.last_event()); };
}

SituationStep tries_and_sends(Json members) {
  return [members = std::move(members)](SituationRunner& runner) {
    runner.try_event(runner.new_event(members, ""));
    runner.check();
    runner.send(members, "", true);
  };
}

SituationStep posts(std::string path) {
  return [path = std::move(path)](SituationRunner& runner) { runner.request("POST", path); };
}

SituationStep drops_group() {
  return [](SituationRunner& runner) { runner.drop_group(); };
}

SituationStep is_judged(std::string verdict) {
  return [verdict = std::move(verdict)](SituationRunner& runner) { runner.await_verdict(verdict); };
}

SituationStep sets(Json settings) {
  return
      [settings = std::move(settings)](SituationRunner& runner) { runner.set_settings(settings); };
}

}  // namespace steps

}  // namespace millrace
