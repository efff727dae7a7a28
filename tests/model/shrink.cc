#include "tests/model/shrink.h"

#include <algorithm>
#include <set>

namespace millrace::reference {

namespace {

void drop_state(Definition& d, size_t i) {
  const std::string id = d.states[i].id, to = d.states[i].to == id ? "" : d.states[i].to;
  d.states.erase(d.states.begin() + static_cast<ptrdiff_t>(i));
  const auto retarget = [&](std::string& t) {
    if (t == id) t = to;
  };
  for (State& s : d.states) {
    retarget(s.to), retarget(s.branch_to);
    for (Catch& c : s.catches) retarget(c.to);
  }
  if (d.on_failure == id) d.on_failure = "";
}

// All slightly simpler cases, the largest cuts first.
std::vector<Case> simpler(const Case& c) {
  std::vector<Case> all;
  const auto with = [&](auto&& change) {
    Case x = c;
    change(x);
    all.push_back(std::move(x));
  };
  const size_t n = c.steps.size();
  for (size_t size = n / 2; size > 0; size /= 2)
    for (size_t from = 0; from + size <= n; from += size)
      with([&](Case& x) {
        const auto at = x.steps.begin() + static_cast<ptrdiff_t>(from);
        x.steps.erase(at, at + static_cast<ptrdiff_t>(size));
      });

  const Definition& d = c.definition;
  const auto forget = [&](auto field) {
    if (d.*field) with([&](Case& x) { (x.definition.*field).reset(); });
  };
  forget(&Definition::retry), forget(&Definition::defaults), forget(&Definition::interrupt);
  forget(&Definition::kill), forget(&Definition::execution), forget(&Definition::run);
  if (d.timeout) with([&](Case& x) { x.definition.timeout.reset(), x.definition.on_failure = ""; });
  for (const auto field : {&Definition::compensates, &Definition::on_failure_compensates})
    if (d.*field) with([&](Case& x) { x.definition.*field = false; });
  for (size_t i = 0; i < d.states.size(); i++) {
    const State& s = d.states[i];
    with([&](Case& x) { drop_state(x.definition, i); });
    if (s.timeout) with([&](Case& x) { x.definition.states[i].timeout.reset(); });
    if (!s.check.empty()) with([&](Case& x) { x.definition.states[i].check = ""; });
    if (s.retry) with([&](Case& x) { x.definition.states[i].retry.reset(); });
    if (!s.to.empty()) with([&](Case& x) { x.definition.states[i].to = ""; });
    if (s.undo) with([&](Case& x) { x.definition.states[i].undo.reset(); });
    if (s.compensates) with([&](Case& x) { x.definition.states[i].compensates = false; });
    if (s.writing != Writing::kConstant)
      with([&](Case& x) { x.definition.states[i].writing = Writing::kConstant; });
    if (!s.written_path.empty())
      with([&](Case& x) {
        State& one = x.definition.states[i];
        one.written_path = "";
        if (one.writing == Writing::kOfData) one.writing = Writing::kConstant;
      });
    if (s.kind == Kind::kParallel || s.kind == Kind::kForeach)
      with([&](Case& x) {
        x.definition.states[i].kind = Kind::kAction;
        x.definition.states[i].actions.resize(1);
      });
    for (size_t k = 0; k < s.catches.size(); k++)
      with([&](Case& x) {
        auto& all_of_it = x.definition.states[i].catches;
        all_of_it.erase(all_of_it.begin() + static_cast<ptrdiff_t>(k));
      });
  }
  // Policies and timeouts on all levels.
  const auto each_holder = [](Case& x, auto&& visit) {
    for (Function& f : x.definition.functions) visit(f.retry, f.timeouts);
    for (State& s : x.definition.states) {
      for (Action& a : s.actions) visit(a.retry, a.timeouts);
      if (s.undo) visit(s.undo->retry, s.undo->timeouts);
    }
  };
  Case counted = c;
  int holders = 0;
  each_holder(counted, [&](auto&, auto&) { holders++; });
  const auto with_holder = [&](int i, auto&& change) {
    with([&](Case& x) {
      int at = 0;
      each_holder(x, [&](auto& retry, auto& timeouts) {
        if (at++ == i) change(retry, timeouts);
      });
    });
  };
  int at = 0;
  each_holder(counted, [&](auto& retry, auto& timeouts) {
    const int i = at++;
    if (retry) with_holder(i, [](auto& r, auto&) { r.reset(); });
    if (retry && !retry->delay_path.empty())
      with_holder(i, [](auto& r, auto&) { r->delay_path = ""; });
    if (retry && retry->factor) with_holder(i, [](auto& r, auto&) { r->factor.reset(); });
    if (retry && retry->max_delay) with_holder(i, [](auto& r, auto&) { r->max_delay.reset(); });
    for (size_t k = 0; k < timeouts.size(); k++)
      with_holder(i, [&](auto&, auto& t) { t.erase(t.begin() + static_cast<ptrdiff_t>(k)); });
    for (size_t k = 0; k < timeouts.size(); k++)
      if (timeouts[k].time % 1000 != 0)
        with_holder(i, [&](auto&, auto& t) { t[k].time -= t[k].time % 1000; });
  });
  // Rounder and shorter times.
  const auto round = [&](auto&& get) {
    Case copy = c;
    const std::optional<Ms> t = get(copy);
    if (!t) return;
    for (const Ms shorter : {*t / 2 - *t / 2 % 1000, *t - *t % 1000})
      if (shorter > 0 && shorter < *t) with([&](Case& x) { get(x) = shorter; });
  };
  for (auto field : {&Definition::interrupt, &Definition::kill, &Definition::execution,
                     &Definition::run, &Definition::timeout})
    round([field](Case& x) -> std::optional<Ms>& { return x.definition.*field; });
  for (size_t i = 0; i < d.states.size(); i++) {
    round([i](Case& x) -> std::optional<Ms>& { return x.definition.states[i].timeout; });
    if (d.states[i].duration % 1000 != 0)
      with([&](Case& x) {
        x.definition.states[i].duration -= x.definition.states[i].duration % 1000 - 1000;
      });
  }
  for (size_t i = 0; i < n; i++) {
    const Step& s = c.steps[i];
    if (s.kind == Step::Kind::kAdvance && s.ms > 1) with([&](Case& x) { x.steps[i].ms /= 2; });
    if (s.kind == Step::Kind::kAdvance && s.ms > 1000 && s.ms % 1000)
      with([&](Case& x) { x.steps[i].ms -= s.ms % 1000; });
    if (s.kind == Step::Kind::kAdvanceNear && s.ms != 0) with([&](Case& x) { x.steps[i].ms = 0; });
    if (s.outcome.result.contains("bad"))
      with([&](Case& x) { x.steps[i].outcome.result.erase("bad"); });
    if (s.pick != 0) with([&](Case& x) { x.steps[i].pick = 0; });
    if (s.then_killed) with([&](Case& x) { x.steps[i].then_killed = false; });
    if (s.callback.progress) with([&](Case& x) { x.steps[i].callback.progress.reset(); });
    if (s.callback.by_operator) with([&](Case& x) { x.steps[i].callback.by_operator = false; });
    if (s.outcome.result.contains("again"))
      with([&](Case& x) { x.steps[i].outcome.result.erase("again"); });
  }
  return all;
}

}  // namespace

Case shrink(Case c, const std::function<bool(const Case&)>& still_fails, int most_tries) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Case& x : simpler(c)) {
      if (!valid(x.definition)) continue;
      if (most_tries-- <= 0) return c;
      if (!still_fails(x)) continue;
      c = x;
      smaller = true;
      break;
    }
  }
  return c;
}

}  // namespace millrace::reference
