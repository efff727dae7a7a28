#include "tests/model/case_yaml.h"

#include <sstream>

#include "tests/model/written_time.h"

namespace millrace::reference {

std::string ms(Ms time) { return std::to_string(time) + "ms"; }

namespace {

std::string number(double x) {
  std::ostringstream s;
  s << x;
  return s.str();
}

// The line of a policy, with the key `vocabulary` if the other keys do not show the vocabulary.
std::string policy_line(const Retry& r) {
  std::string s;
  const auto add = [&s](const std::string& key, const std::string& value) {
    s += (s.empty() ? "" : ", ") + key + ": " + value;
  };
  const auto add_time = [&](const char* key, const std::optional<Ms>& t) {
    if (t) add(key, ms(*t));
  };
  const auto add_delay = [&] {
    if (r.delay || !r.delay_path.empty()) add("delay", delay_text(r));
  };
  const auto add_factor = [&](const char* key) {
    if (r.factor) add(key, number(*r.factor));
  };
  switch (r.vocabulary) {
    case Vocabulary::kZart:
      return "retry: fixed(" + std::to_string(r.attempts.value_or(1)) + ", " +
             ms(r.delay.value_or(0)) + ")\n";
    case Vocabulary::kDirektiv:
      add("max_attempts", std::to_string(r.attempts.value_or(0)));
      add_delay();
      add_factor("multiplier");
      add("codes", Json(r.codes).dump());
      break;
    case Vocabulary::kSteep:
      if (r.attempts) add("maxAttempts", std::to_string(*r.attempts));
      add_delay();
      add_factor("exponentialBackoff");
      add_time("maxDelay", r.max_delay);
      if (!r.factor && !r.max_delay) add("vocabulary", "steep");
      break;
    case Vocabulary::kTemporal:
      if (r.attempts) add("maximumAttempts", std::to_string(*r.attempts));
      add_time("initialInterval", r.delay);
      add_factor("backoffCoefficient");
      add_time("maximumInterval", r.max_delay);
      if (!r.codes.empty()) add("nonRetryableErrors", Json(r.codes).dump());
      if (s.empty()) add("vocabulary", "temporal");
      break;
    case Vocabulary::kStevora:  // milliseconds without a unit
      if (r.attempts) add("maxAttempts", std::to_string(*r.attempts));
      if (r.delay) add("backoffMs", std::to_string(*r.delay));
      add_factor("backoffMultiplier");
      if (r.max_delay) add("maxBackoffMs", std::to_string(*r.max_delay));
      if (!r.delay && !r.factor && !r.max_delay) add("vocabulary", "stevora");
      break;
  }
  return "retries: {" + s + "}\n";
}

// The line of an exit: `transition` or `continueAsNew`; none if the exit ends the workflow.
std::string exit_line(const std::string& indent, const std::string& to, bool is_default = false) {
  if (to.empty()) return "";
  if (to == kNextRun) return indent + (is_default ? "defaultC" : "c") + "ontinueAsNew: jq(.)\n";
  return indent + (is_default ? "defaultT" : "t") + "ransition: " + to + "\n";
}

std::string checked(const std::string& path, const std::string& otherwise) {
  return "if " + path + " then error(\"it is bad\") else " + otherwise + " end";
}

std::string limits(const std::string& indent, const std::optional<Retry>& retry,
                   const std::vector<Timeout>& timeouts) {
  std::string s;
  for (const Timeout& t : timeouts) {
    const bool steep = t.key == "maxInactivity" || t.key == "maxRuntime" || t.key == "deadline";
    if (steep && t.error_on_timeout)
      s += indent + t.key + ": {timeout: " + ms(t.time) + ", errorOnTimeout: true}\n";
    else
      s += indent + t.key + ": " + ms(t.time) + "\n";
    if (t.per_attempt) s += indent + "timeout_scope: per_attempt\n";
  }
  if (retry) s += indent + policy_line(*retry);
  return s;
}

}  // namespace

std::string to_yaml(const Case& c, const Rendering& rendering) {
  const Definition& d = c.definition;
  const char* const names[] = {"direktiv", "steep", "temporal", "stevora", "zart"};
  const char* const kinds[] = {"action", "parallel", "foreach", "consumeEvent",
                               "delay",  "noop",     "error",   "switch"};
  std::string y = "id: control\n";
  if (d.defaults) y += std::string("defaults: ") + names[static_cast<int>(*d.defaults)] + "\n";
  if (d.retry) y += policy_line(*d.retry);
  if (d.execution) y += "workflowExecutionTimeout: " + ms(*d.execution) + "\n";
  if (d.run) y += "workflowRunTimeout: " + ms(*d.run) + "\n";
  if (d.timeout) y += "timeout: " + ms(*d.timeout) + "\n";
  if (d.on_failure_compensates && !d.on_failure.empty())
    y += "on_failure: {state: " + d.on_failure + ", compensate: true}\n";
  else if (!d.on_failure.empty())
    y += "on_failure: " + d.on_failure + "\n";
  if (d.compensates) y += "compensate: true\n";
  if (d.interrupt || d.kill) {
    y += "timeouts:\n";
    if (d.interrupt) y += "  interrupt: " + ms(*d.interrupt) + "\n";
    if (d.kill) y += "  kill: " + ms(*d.kill) + "\n";
  }
  if (!d.functions.empty()) y += "functions:\n";
  for (const Function& f : d.functions) {
    y += "- id: " + f.id + "\n";
    for (const auto& [key, value] : rendering.function) y += "  " + key + ": " + value + "\n";
    y += limits("  ", f.retry, f.timeouts);
  }
  y += "states:\n";
  for (const State& s : d.states) {
    const std::string seen = ". + {seen: (.seen + [\"" + s.id + "\"])}";
    const bool checks = s.kind == Kind::kNoop && !s.check.empty();
    const std::string note = "'jq(" + (checks ? checked(s.check, seen) : seen) + ")'";
    y += "- id: " + s.id + "\n  type: " + kinds[static_cast<int>(s.kind)] + "\n";
    if (s.kind == Kind::kForeach) y += "  array: 'jq(.items)'\n";
    if (s.kind == Kind::kAction || s.kind == Kind::kForeach)
      y += "  action:\n    function: " + s.actions[0].function + "\n" +
           limits("    ", s.actions[0].retry, s.actions[0].timeouts);
    if (s.kind == Kind::kAction && !s.check.empty())
      y += "    input: 'jq(" + checked(s.check, ".") + ")'\n";
    if (s.kind == Kind::kParallel) {
      y += std::string("  mode: ") + (s.any ? "or" : "and") + "\n  actions:\n";
      for (const Action& a : s.actions)
        y += "  - function: " + a.function + "\n" + limits("    ", a.retry, a.timeouts);
    }
    if (s.kind == Kind::kWait) y += std::string("  event:\n    type: ") + kEventType + "\n";
    if (s.kind == Kind::kDelay) y += time_line(s, "duration", s.duration);
    if (s.kind == Kind::kError) y += "  error: " + s.error_code + "\n  message: made to fail\n";
    if (s.timeout) y += time_line(s, "timeout", *s.timeout);
    if (s.retry) y += "  " + policy_line(*s.retry);
    if (s.compensates) y += "  compensate: true\n";
    if (s.undo)
      y += "  compensate:\n    function: " + s.undo->function + "\n" +
           limits("    ", s.undo->retry, s.undo->timeouts);
    if (s.kind == Kind::kBranch) {
      y += "  conditions:\n  - condition: 'jq(" + s.condition + ")'\n    transform: " + note + "\n";
      y += exit_line("    ", s.branch_to);
      y += "  defaultTransform: " + note + "\n";
      y += exit_line("  ", s.to, true);
    } else {
      y += "  transform: " + note + "\n";
      y += exit_line("  ", s.to);
    }
    if (!s.catches.empty()) y += "  catch:\n";
    for (const Catch& k : s.catches) {
      y += "  - error: \"" + k.pattern + "\"\n";
      y += exit_line("    ", k.to);
    }
  }
  return y;
}

}  // namespace millrace::reference
