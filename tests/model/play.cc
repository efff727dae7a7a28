#include "tests/model/play.h"

#include <algorithm>
#include <sstream>

#include "tests/model/policies.h"
#include "tests/model/random_case.h"
#include "tests/model/shrink.h"

namespace millrace::reference {

namespace {

const char* const kVerbs[] = {"cancel",
                              "pause",
                              "resume",
                              "pause the workflow",
                              "resume the workflow",
                              "retry",
                              "retry --extend",
                              "restart",
                              "rerun --from",
                              "compensate",
                              "compensate --past"};
const char* const kReplies[] = {"accepted", "refused (409)", "refused otherwise"};

std::string name(const TaskView& t) {
  std::string s = t.state + "[" + std::to_string(t.index) + "] attempt " +
                  std::to_string(t.attempt) + " of run " + std::to_string(t.run);
  return s;
}

auto key(const TaskView& t) { return std::tie(t.run, t.state, t.index, t.attempt); }

std::string list(std::vector<TaskView> tasks) {
  std::sort(tasks.begin(), tasks.end(),
            [](const TaskView& a, const TaskView& b) { return key(a) < key(b); });
  std::string s;
  for (const TaskView& t : tasks)
    s += (s.empty() ? "" : ", ") + name(t) + (t.taken ? " (taken) " : " (not taken) ") +
         (t.accepted ? "(accepted) " : "") + t.input.dump() +
         (t.progress ? " with progress " + t.progress->dump() : "") +
         (t.last_progress ? " after progress " + t.last_progress->dump() : "");
  return s.empty() ? "none" : s;
}

std::string text(const Interval& i) {
  if (i.low < 0) return "none";
  return std::to_string(i.low) + (i.high == i.low ? "" : " to " + std::to_string(i.high));
}

std::string text(const std::vector<Ms>& all) {
  std::string s;
  for (Ms at : all) s += (s.empty() ? "" : ", ") + std::to_string(at);
  return s.empty() ? "none" : s;
}

bool same_tasks(std::vector<TaskView> a, std::vector<TaskView> b) {
  const auto before = [](const TaskView& x, const TaskView& y) { return key(x) < key(y); };
  std::sort(a.begin(), a.end(), before);
  std::sort(b.begin(), b.end(), before);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TaskView& x, const TaskView& y) {
                      return key(x) == key(y) && x.taken == y.taken && matches(x.input, y.input) &&
                             x.accepted == y.accepted && x.progress == y.progress &&
                             x.last_progress == y.last_progress;
                    });
}

// Runs a step. If the process dies after the step, restarts the process.
template <class Act>
void with_death(bool then_killed, Subject& x, const Act& act) {
  if (then_killed) x.kill_after_commit();
  act(x);
  if (!then_killed) return;
  x.kill();
  x.start_process();
}

}  // namespace

bool matches(const Json& expected, const Json& actual) {
  if (expected.is_object() && expected.contains("$any")) return true;
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [k, v] : expected.items()) {
      if (!actual.contains(k)) return false;
      if (k == "error" && v.is_object() && !v.contains("$any") && actual[k].is_object()) {
        for (const auto& [ek, ev] : v.items())
          if (!actual[k].contains(ek) || !matches(ev, actual[k][ek])) return false;
      } else if (!matches(v, actual[k])) {
        return false;
      }
    }
    return expected.size() == actual.size();
  }
  if (expected.is_array() && actual.is_array())
    return std::equal(expected.begin(), expected.end(), actual.begin(), actual.end(), matches);
  return expected == actual;
}

std::string difference(const Observation& m, const Observation& s, const PlayOptions& options) {
  std::string all;
  const auto differ = [&all](const char* field, const std::string& wanted, const std::string& got) {
    all += std::string("  ") + field + ": the model says " + wanted + ", the subject shows " + got +
           "\n";
  };
  const auto texts = [&](const char* field, const auto& a, const auto& b) {
    if (a && b && !one_of(*b, *a)) differ(field, "\"" + *a + "\"", "\"" + *b + "\"");
  };
  const auto numbers = [&](const char* field, const auto& a, const auto& b) {
    if (a && b && *a != *b) differ(field, std::to_string(*a), std::to_string(*b));
  };
  texts("status", m.status, s.status);
  numbers("paused", m.paused, s.paused);
  texts("state", m.state, s.state);
  numbers("run", m.run, s.run);
  numbers("attempt", m.attempt, s.attempt);
  if (m.data && s.data && !matches(*m.data, *s.data))
    differ("data", m.data->dump(), s.data->dump());
  texts("error code", m.error_code, s.error_code);
  if (options.compare_messages && m.error_message && s.error_message &&
      s.error_message->find(*m.error_message) == std::string::npos)
    differ("error message", "\"…" + *m.error_message + "…\"", "\"" + *s.error_message + "\"");
  if (m.next_retry_at && s.next_retry_at) {
    const Interval &a = *m.next_retry_at, &b = *s.next_retry_at;
    if (b.low < a.low || b.high > a.high) differ("nextRetryAt", text(a), text(b));
  }
  if (options.compare_deadline && m.deadline && s.deadline)
    for (Ms at : *s.deadline)
      if (std::find(m.deadline->begin(), m.deadline->end(), at) == m.deadline->end())
        differ("deadline", "one of " + text(*m.deadline), std::to_string(at));
  texts("failedState", m.failed_state, s.failed_state);
  if (m.tasks && s.tasks && !same_tasks(*m.tasks, *s.tasks))
    differ("tasks", list(*m.tasks), list(*s.tasks));
  numbers("calls made", m.calls, s.calls);
  numbers("compensations left", m.notes, s.notes);
  numbers("a compensation failed", m.undo_failed, s.undo_failed);
  return all;
}

// The player.

Player::Player(const Case& c, Model& model, Subject* subject, PlayOptions options)
    : model_(model), subject_(subject), options_(std::move(options)), definition_(c.definition) {
  const std::string yaml = subject ? to_yaml(c, options_.rendering) : "";
  model_.begin(c.definition, yaml, c.input);
  if (subject_ && model_.undecided().empty()) subject_->begin(c.definition, yaml, c.input);
  compare("0 ms: start");
}

bool Player::compare(const std::string& after) {
  if (!after.empty()) played_.trace.push_back(after);
  if (!model_.undecided().empty()) {
    played_.undecided = model_.undecided();
    return false;
  }
  played_.model = model_.observe();
  if (!subject_) {
    // Without a subject, the model adopts the longest wait and the first of several right texts.
    Observation first = played_.model;
    if (first.next_retry_at) first.next_retry_at->low = first.next_retry_at->high;
    for (auto* text : {&first.status, &first.failed_state, &first.error_code})
      if (*text) *text = (*text)->substr(0, (*text)->find('|'));
    model_.adopt(first);
    return true;
  }
  played_.subject = subject_->observe();
  played_.difference = difference(played_.model, played_.subject, options_);
  if (played_.differs()) {
    played_.difference = "at " + std::to_string(model_.now()) + " ms, after \"" +
                         played_.trace.back() + "\":\n" + played_.difference;
    return false;
  }
  model_.adopt(played_.subject);
  // A task has one handle in the model and another in the subject.
  if (played_.model.tasks && played_.subject.tasks)
    for (const TaskView& mine : *played_.model.tasks)
      for (const TaskView& theirs : *played_.subject.tasks)
        if (key(mine) == key(theirs)) handles_[mine.handle] = theirs.handle;
  return true;
}

bool Player::advance(Ms to, bool then_killed) {
  int moments = 0;
  const auto both = [&](Ms at) {
    const bool killed = then_killed && at == to;
    with_death(killed, model_, [at](Subject& x) { x.advance_to(at); });
    if (both_know()) with_death(killed, *subject_, [at](Subject& x) { x.advance_to(at); });
    return compare("");
  };
  while (const auto next = model_.next_due()) {
    if (*next > to) break;
    if (++moments > options_.most_moments) {
      played_.undecided = "too many things are due";
      return false;
    }
    if (options_.look_just_before && *next - 1 > model_.now() && !both(*next - 1)) return false;
    played_.trace.push_back("    " + std::to_string(*next) + " ms: something is due");
    if (!both(std::max(*next, model_.now()))) return false;
  }
  return model_.now() == to || both(to);
}

std::vector<TaskView> Player::tasks(bool taken) {
  std::vector<TaskView> all = model_.tasks();
  std::erase_if(all, [taken](const TaskView& t) { return t.taken != taken || t.accepted; });
  return all;
}

// The open tasks about which a service may say something: `accepted`, also those that it has
// accepted. In a pause nothing begins an attempt.
std::vector<TaskView> Player::called_back(bool accepted) {
  std::vector<TaskView> all = model_.tasks();
  std::erase_if(all, [&](const TaskView& t) {
    return (t.accepted && !accepted) || (!t.taken && model_.paused());
  });
  return all;
}

void Player::note_taken(const TaskView& task) {
  const auto is_same = [&](const TaskView& one) { return one.handle == task.handle; };
  if (std::none_of(taken_.begin(), taken_.end(), is_same)) taken_.push_back(task);
}

bool Player::call_back(const Step& s, const std::string& at) {
  const bool late = s.kind == Step::Kind::kCallBackLate;
  const auto from = late ? over() : called_back(true);
  if (from.empty()) return true;
  const TaskView t = from[static_cast<size_t>(s.pick) % from.size()];
  Callback callback = s.callback;
  if (const auto given = model_.given(t.handle); late && s.repeats && given) {
    callback.is_heartbeat = false;
    callback.outcome = *given;
  }
  if (!late) note_taken(t);
  const bool is_known = subject_ == nullptr || handles_.contains(t.handle);
  const bool knows = is_known && model_.knows_reply(t.handle);
  const std::string what = describe(callback) + " of " + name(t);
  Reply mine{}, theirs{};
  with_death(s.then_killed, model_, [&](Subject& x) { mine = x.call_back(t.handle, callback); });
  if (both_know()) {
    with_death(s.then_killed, *subject_,
               [&](Subject& x) { theirs = x.call_back(subject_handle(t), callback); });
    // A process that has died does not answer.
    if (knows && !s.then_killed && mine != theirs && model_.undecided().empty()) {
      differ_in_reply(at + what, mine, theirs);
      return false;
    }
  }
  const std::string refused = mine == Reply::kAccepted || !knows ? "" : " → refused (409)";
  const std::string death = s.then_killed ? "; the process dies behind that commit" : "";
  if (!compare(at + what + refused + death)) return false;
  count(std::string(late ? "callback about a task that is over" : "callback") + refused);
  if (s.then_killed) count("the process dies behind: callback");
  if (model_.away()) count("step while the broker is away");
  if (model_.paused()) count("step in a pause");
  return true;
}

void Player::differ_in_reply(const std::string& what, Reply mine, Reply theirs) {
  played_.model = model_.observe();
  played_.subject = subject_->observe();
  played_.difference = "at " + what + ": the model says " + kReplies[static_cast<int>(mine)] +
                       ", the subject " + kReplies[static_cast<int>(theirs)] + "\n";
  played_.trace.push_back(what);
}

// Tasks that were taken and are over: a further answer to such a task is late, or is a second
// answer.
std::vector<TaskView> Player::over() {
  const auto open = model_.tasks();
  std::vector<TaskView> all;
  for (const TaskView& t : taken_)
    if (std::none_of(open.begin(), open.end(),
                     [&](const TaskView& o) { return o.handle == t.handle; }))
      all.push_back(t);
  return all;
}

std::string Player::subject_handle(const TaskView& task) {
  const auto found = handles_.find(task.handle);
  return found == handles_.end() ? task.handle : found->second;
}

bool Player::step(const Step& s) {
  if (played_.differs() || !played_.undecided.empty()) return false;
  const std::string at = std::to_string(model_.now()) + " ms: ";
  const bool alive = !model_.dead();
  const bool sends = alive && !model_.away();
  const std::string death =
      s.then_killed ? "; the process dies behind that commit and starts again" : "";
  const auto pick = [&s](const auto& from) {
    return from[static_cast<size_t>(s.pick) % from.size()];
  };
  const auto counted = [&](const std::string& what, bool killed, bool same) {
    if (!same) return false;
    count(what);
    if (killed) count("the process dies behind: " + what);
    if (model_.away()) count("step while the broker is away");
    if (model_.paused()) count("step in a pause");
    return true;
  };
  const auto on_task = [&](const char* what, const std::vector<TaskView>& from, auto&& act) {
    if (!alive || from.empty()) return true;
    const TaskView t = pick(from);
    with_death(s.then_killed, model_, [&](Subject& x) { act(x, t.handle); });
    if (both_know())
      with_death(s.then_killed, *subject_, [&](Subject& x) { act(x, subject_handle(t)); });
    const bool answers = s.kind == Step::Kind::kAnswer || s.kind == Step::Kind::kAnswerLate;
    const std::string outcome =
        s.outcome.ok ? " with " + s.outcome.result.dump() : " with the error " + s.outcome.code;
    return counted(what, s.then_killed,
                   compare(at + what + " " + name(t) + (answers ? outcome : "") + death));
  };
  const auto simply = [&](const char* what, bool possible, auto&& act) {
    if (!possible) return true;
    const bool killed = s.then_killed && s.kind == Step::Kind::kEvent;
    with_death(killed, model_, act);
    if (both_know()) with_death(killed, *subject_, act);
    return counted(s.kind == Step::Kind::kEvent ? "event" : what, killed,
                   compare(at + what + (killed ? death : "")));
  };

  switch (s.kind) {
    case Step::Kind::kAdvance:
      if (s.ms <= 0) return true;
      played_.trace.push_back(at + "time goes on to " + std::to_string(model_.now() + s.ms) +
                              " ms" + (alive ? death : ""));
      return counted("time goes on", s.then_killed && alive,
                     advance(model_.now() + s.ms, s.then_killed && alive));
    case Step::Kind::kAdvanceNear: {
      std::vector<Ms> moments = model_.moments();
      std::erase_if(moments, [this](Ms m) { return m <= model_.now(); });
      if (moments.empty()) return true;
      const Ms to = pick(moments) + s.ms;
      if (to <= model_.now()) return true;
      played_.trace.push_back(at + "time goes on to " + std::to_string(to) + " ms" +
                              (alive ? death : ""));
      return counted("time goes on", s.then_killed && alive, advance(to, s.then_killed && alive));
    }
    case Step::Kind::kTake: {
      if (model_.paused() || !alive) return true;
      const auto from = tasks(false);
      if (!from.empty()) note_taken(pick(from));
      return on_task("take", from, [](Subject& x, const std::string& h) { x.take(h); });
    }
    case Step::Kind::kHeartbeat:
      return on_task("heartbeat of", tasks(true),
                     [](Subject& x, const std::string& h) { x.heartbeat(h); });
    case Step::Kind::kAnswer:
      return on_task("answer", tasks(true),
                     [&](Subject& x, const std::string& h) { x.answer(h, s.outcome); });
    case Step::Kind::kAnswerLate:
      return on_task("answer again or late", over(),
                     [&](Subject& x, const std::string& h) { x.answer(h, s.outcome); });
    case Step::Kind::kAccept: {
      const auto from = called_back(false);
      if (alive && !from.empty()) note_taken(pick(from));
      return on_task("accept", from, [](Subject& x, const std::string& h) { x.accept(h); });
    }
    case Step::Kind::kCallBack:
    case Step::Kind::kCallBackLate:
      return !alive || call_back(s, at);
    case Step::Kind::kEvent:
      return simply(("event " + s.outcome.result.dump()).c_str(), sends,
                    [&](Subject& x) { x.send_event(kEventType, s.outcome.result); });
    case Step::Kind::kKill:
      return simply("the process is killed", alive, [](Subject& x) { x.kill(); });
    case Step::Kind::kStartProcess:
      return simply("the process starts", model_.dead(), [](Subject& x) { x.start_process(); });
    case Step::Kind::kBrokerAway:
      return simply("the broker is away", sends, [](Subject& x) { x.broker_away(); });
    case Step::Kind::kBrokerBack:
      return simply("the broker is back", model_.away() && !model_.dead(),
                    [](Subject& x) { x.broker_back(); });
    case Step::Kind::kCommand: {
      std::string state;
      if (s.verb == Verb::kRerun) state = pick(definition_.states).id;
      if (model_.dead() || !model_.would(s.verb, state)) return true;
      const std::string what =
          kVerbs[static_cast<int>(s.verb)] + (state.empty() ? "" : " " + state);
      const bool killed = s.then_killed;
      Reply mine{}, theirs{};
      with_death(killed, model_, [&](Subject& x) { mine = x.command(s.verb, state); });
      if (both_know()) {
        with_death(killed, *subject_, [&](Subject& x) { theirs = x.command(s.verb, state); });
        // A process that has died does not answer.
        if (!killed && mine != theirs && model_.undecided().empty()) {
          differ_in_reply(at + what, mine, theirs);
          return false;
        }
      }
      const std::string refused = mine == Reply::kAccepted ? "" : " → refused (409)";
      return counted(kVerbs[static_cast<int>(s.verb)] + refused, killed,
                     compare(at + what + refused + (killed ? death : "")));
    }
  }
  return true;
}

Played play(const Case& c, Model& model, Subject& subject, const PlayOptions& options) {
  Player player(c, model, &subject, options);
  for (const Step& s : c.steps)
    if (!player.step(s)) break;
  return player.played();
}

Played Player::played() const {
  Played all = played_;
  for (const auto& [what, times] : model_.happened()) all.counts[what] += times;
  return all;
}

std::string kind_of(const Played& played) {
  std::istringstream lines(played.difference);
  std::string kind, line;
  std::getline(lines, line);
  const size_t answer = line.find(": the model says");
  if (answer != std::string::npos)
    return "answer to " + line.substr(0, answer).substr(line.rfind(": ", answer - 1) + 2);
  while (std::getline(lines, line)) {
    const size_t end = line.find(": the model says");
    if (end != std::string::npos) kind += (kind.empty() ? "" : ", ") + line.substr(2, end - 2);
  }
  return kind.empty() ? "something else" : kind;
}

int Explored::ended_early() const {
  int all = 0;
  for (const auto& [why, times] : undecided) all += times;
  return all;
}

Explored explore(const std::function<Played(const Case&)>& play, const ExploreOptions& options) {
  Explored all;
  for (; all.cases < options.count; all.cases++) {
    const Case c = options.make(options.from + static_cast<uint64_t>(all.cases));
    const Played played = play(c);
    for (const auto& [what, times] : played.counts) all.counts[what] += times;
    if (!played.undecided.empty()) all.undecided[played.undecided]++;
    if (!played.differs()) continue;
    all.differing++;
    const std::string kind = kind_of(played);
    if (all.kinds[kind]++ > 0) continue;
    const auto still_differs = [&](const Case& x) {
      const Played again = play(x);
      return again.differs() && kind_of(again) == kind;
    };
    const Case small = shrink(c, still_differs, options.most_tries);
    all.reports.push_back(report(small, play(small), options.rendering));
    if (static_cast<int>(all.reports.size()) == options.most_reports) break;
  }
  return all;
}

std::string print(const Observation& o) {
  std::ostringstream out;
  const auto line = [&out](const char* field, const auto& value) {
    if (value) out << "    " << field << ": " << *value << "\n";
  };
  line("status", o.status);
  line("paused", o.paused);
  line("state", o.state);
  line("run", o.run);
  line("attempt", o.attempt);
  line("data", o.data);
  line("error code", o.error_code);
  line("error message", o.error_message);
  if (o.next_retry_at) out << "    nextRetryAt: " << text(*o.next_retry_at) << "\n";
  if (o.deadline) out << "    deadline: " << text(*o.deadline) << "\n";
  line("failedState", o.failed_state);
  if (o.tasks) out << "    tasks: " << list(*o.tasks) << "\n";
  line("calls made", o.calls);
  line("compensations left", o.notes);
  line("a compensation failed", o.undo_failed);
  return out.str();
}

std::string report(const Case& c, const Played& p, const Rendering& rendering) {
  std::string s = "case of seed " + std::to_string(c.seed) + "\n" + to_yaml(c, rendering) +
                  "input: " + c.input.dump() + "\nwhat happened:\n";
  for (const std::string& t : p.trace) s += "  " + t + "\n";
  if (!p.undecided.empty()) s += "undecided: " + p.undecided + "\n";
  if (p.differs()) s += "difference " + p.difference;
  return s + "  the model shows\n" + print(p.model) + "  the subject shows\n" + print(p.subject);
}

}  // namespace millrace::reference
