#include "gateway/schema_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::schema {
namespace {

Json typed(const char* type, std::string_view description) {
  Json made = {{"type", type}};
  if (!description.empty()) made["description"] = description;
  return made;
}

Json described(Json made, std::string_view description) {
  if (!description.empty()) made["description"] = description;
  return made;
}

/// Adds the members to a schema of an object.
void add_members(Json& made, const std::initializer_list<Member>& members) {
  for (const auto& [name, member] : members) {
    const bool is_optional = name.ends_with('?');
    const std::string key = is_optional ? name.substr(0, name.size() - 1) : name;
    made["properties"][key] = member;
    if (!is_optional) made["required"].push_back(key);
  }
}

}  // namespace

Json text(std::string_view description) { return typed("string", description); }

Json instant(std::string_view description) {
  Json made = typed("string", description);
  made["format"] = "date-time";
  return made;
}

Json whole(std::string_view description, int least) {
  Json made = typed("integer", description);
  made["minimum"] = least;
  return made;
}

Json whole_to(size_t most) {
  Json made = whole("", 1);
  made["maximum"] = most;
  return made;
}

Json number(std::string_view description) { return typed("number", description); }

Json flag(std::string_view description) { return typed("boolean", description); }

Json any(std::string_view description) { return described(Json::object(), description); }

Json exactly(const Json& value, std::string_view description) {
  Json made = typed(value.is_boolean() ? "boolean" : "string", description);
  made["enum"] = Json::array({value});
  return made;
}

Json word(const std::vector<std::string_view>& words, std::string_view description) {
  Json made = typed("string", description);
  made["enum"] = Json::array();
  for (const std::string_view one : words) made["enum"].push_back(one);
  return made;
}

Json words(const std::vector<std::string_view>& choices, std::string_view description) {
  const std::string one = fmt::format("({})", fmt::join(choices, "|"));
  Json made = typed("string", description);
  made["pattern"] = fmt::format("^({0}(,{0})*)?$", one);
  return made;
}

Json ref(std::string_view name) { return {{"$ref", "#/components/schemas/" + std::string(name)}}; }

Json list(Json elements, std::string_view description) {
  Json made = typed("array", description);
  made["items"] = std::move(elements);
  return made;
}

Json object(const std::initializer_list<Member>& members) {
  Json made = open_object(members);
  made["additionalProperties"] = false;
  return made;
}

Json open_object(const std::initializer_list<Member>& members) {
  Json made = typed("object", "");
  made["properties"] = Json::object();
  add_members(made, members);
  return made;
}

Json map(Json values, std::string_view description) {
  Json made = typed("object", description);
  made["additionalProperties"] = std::move(values);
  return made;
}

Json or_null(const Json& other) {
  return {{"anyOf", Json::array({other, Json{{"type", "null"}}})}};
}

Json either(std::initializer_list<Json> schemas, std::string_view description) {
  Json made = Json::object();
  for (const Json& one : schemas) made["anyOf"].push_back(one);
  return described(std::move(made), description);
}

Json page(Json elements) {
  return object({{"items", list(std::move(elements))},
                 {"next", or_null(text("The cursor of the next page; null: this is the last."))}});
}

Json complete() {
  return flag("false: a bound of the server has left something out that no page has.");
}

Json bounded_page(Json elements, std::string_view looked) {
  return extended(page(std::move(elements)), {{"complete", complete()}, {"looked", whole(looked)}});
}

Json extended(Json base, const std::initializer_list<Member>& members) {
  add_members(base, members);
  return base;
}

Json compensation() {
  return object({
      {"left", whole("How many compensations were noted and not made.", 1)},
      {"making", flag("Whether the instance makes them now.")},
      {"ends?", word({"failed", "timedout", "cancelled"}, "The status after them.")},
      {"error?", object({{"code", text("The error code of the newest one, which has failed.")},
                         {"msg", text("The message.")}})},
  });
}

Json cancelling() {
  return object({
      {"tasks", whole("How many running tasks must end before the instance ends.")},
      {"since?",
       instant("When the cancel came; missing: its record is not among the newest ones.")},
  });
}

Json passed_compensations() {
  return list(whole("The number of a compensation.", 1),
              "Of an ended instance: the compensations that an operator has passed over since it "
              "was last retried or restarted, as far as its newest records show them.");
}

Json deletion() {
  return object({
      {"cancelled", whole("How many instances were cancelled.")},
      {"droppedCompensations?",
       whole("With `dropCompensations`: how many compensations these instances had left.")},
      {"pendingStarts?", whole("Of a workflow: how many starts that `debounce` or `batch` had put "
                               "off were dropped; missing: none.",
                               1)},
  });
}

Json with_consequence(Json base, bool always, const std::vector<std::string_view>& others,
                      std::string_view meanings) {
  std::vector<std::string_view> causes = {"state", "attempt", "run", "end", "call", "depends"};
  causes.insert(causes.end(), others.begin(), others.end());
  const std::string meaning = fmt::format(
      "What follows: the instance goes to the state `then` (`state`), makes another `attempt` of "
      "it, or begins another `run`; it ends with the status `ends` (`end`); a `call` makes its "
      "next "
      "attempt or times out; or it `depends` on the data or another timeout{}.",
      meanings);
  return extended(
      std::move(base),
      {{always ? "causes" : "causes?", word(causes, meaning)},
       {"then?", text("The id of the state in which the instance continues.")},
       {"error?",
        text("The code of the error that the timer raises, or with which the instance ends.")},
       {"ends?", word({"complete", "failed", "timedout", "cancelled"},
                      "The status with which the instance ends.")},
       {"compensates?", exactly(true, "It makes its compensations before it ends.")}});
}

Json caller() {
  return object({
      {"instance", instance_id("The instance whose call gets the error.")},
      {"retries?", flag("Whether another attempt of the call follows; missing: it is not known.")},
  });
}

Json call_wait() {
  return object({
      {"index", whole("The place of the call.")},
      {"function?", text("The id of the function.")},
      {"workflow?", text("The id of the workflow of a subflow.")},
      {"compensates?", exactly(true, "The call undoes what a state has done.")},
      {"status", word({"queued", "scheduled", "running", "retrying"})},
      {"attempt", whole("The number of the latest attempt; 0: none yet.")},
      {"task?", instance_id("The action id of the latest attempt of a function.")},
      {"instance?", instance_id("The instance of the latest attempt of a subflow.")},
      {"since", instant("When the attempt was made or failed, or the state was entered.")},
      {"nextRetryAt?", instant("When the next attempt begins.")},
  });
}

Json instance_id(std::string_view description) {
  Json made = text(description);
  made["format"] = "uuid";
  return made;
}

}  // namespace millrace::schema
