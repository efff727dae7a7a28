// Plays a case on the model and on a subject, and reports where they differ.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/case_yaml.h"
#include "tests/model/control_model.h"
#include "tests/model/random_case.h"
#include "tests/model/subject.h"

namespace millrace::reference {

struct PlayOptions {
  bool look_just_before = true;   // also compare one millisecond before each due action
  bool compare_deadline = false;  // the documents do not say which deadline an instance shows
  bool compare_messages = true;
  int most_moments = 400;  // a step with more times at which actions are due is undecided
  Rendering rendering;
};

struct Played {
  std::string difference;             // empty = none
  std::string undecided;              // why the play ended early without a difference
  std::vector<std::string> trace;     // the steps with their times
  std::map<std::string, int> counts;  // counts of compared steps and actions
  Observation model, subject;         // at the end
  bool differs() const { return !difference.empty(); }
};

// The fields in which the subject differs from the model; empty = none.
std::string difference(const Observation& model, const Observation& subject,
                       const PlayOptions& options = {});

// {"$any": true} in `expected` matches anything. Of a member "error" only the members of `expected`
// are compared.
bool matches(const Json& expected, const Json& actual);

// Runs the steps of a case one after the other. The generator of cases uses a Player without a
// subject.
class Player {
 public:
  Player(const Case& c, Model& model, Subject* subject, PlayOptions options = {});
  bool step(const Step& step);  // false: the play is over
  Played played() const;

 private:
  // Whether the subject runs the step, too. The subject does not run it if the documents leave the
  // result open.
  bool both_know() const { return subject_ && model_.undecided().empty(); }
  bool compare(const std::string& after);
  void count(const std::string& what) { played_.counts[what]++; }
  bool advance(Ms to, bool then_killed);
  std::vector<TaskView> tasks(bool taken);
  std::vector<TaskView> called_back(bool taken);
  bool call_back(const Step& step, const std::string& at);
  void note_taken(const TaskView& task);
  void differ_in_reply(const std::string& what, Reply mine, Reply theirs);
  std::string subject_handle(const TaskView& task);
  std::vector<TaskView> over();

  Model& model_;
  Subject* subject_;
  PlayOptions options_;
  const Definition& definition_;
  Played played_;
  std::vector<TaskView> taken_;  // all tasks that were taken, with the handles of the model
  std::map<std::string, std::string> handles_;  // handles of the model → handles of the subject
};

Played play(const Case& c, Model& model, Subject& subject, const PlayOptions& options = {});

// The results of many cases.
struct Explored {
  int cases = 0, differing = 0;
  std::map<std::string, int> undecided;  // by reason: how many cases ended early
  std::map<std::string, int> kinds;      // by kind of difference: how many cases differ
  std::map<std::string, int> counts;     // the sum of Played::counts of all cases
  std::vector<std::string> reports;      // for each kind of difference: its first case, shrunk
  int ended_early() const;
};

struct ExploreOptions {
  uint64_t from = 1;
  int count = 500;
  int most_reports = 1;   // explore() stops after that many reports
  int most_tries = 3000;  // how many simpler cases are tried to shrink one case
  Case (*make)(uint64_t seed) = make_case;
  Rendering rendering;
};

// Plays the cases of `count` seeds. Each case with a difference is shrunk as long as it keeps that
// kind of difference.
Explored explore(const std::function<Played(const Case&)>& play,
                 const ExploreOptions& options = {});

// The kind of a difference: the names of the fields that differ, or the command whose answer
// differs.
std::string kind_of(const Played& played);

std::string print(const Observation& observation);
std::string report(const Case& c, const Played& played, const Rendering& rendering = {});

}  // namespace millrace::reference
