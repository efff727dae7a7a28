// Plays a case on the model and on a subject, and tells where they differ.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/case.h"
#include "tests/model/control_model.h"
#include "tests/model/subject.h"

namespace millrace::reference {

struct PlayOptions {
  bool look_just_before = true;   // also compare one millisecond before each thing that is due
  bool compare_deadline = false;  // the documents do not say which deadline an instance shows
  bool compare_messages = true;
  int most_moments = 400;  // of one step; more makes the case undecided
  Rendering rendering;
};

struct Played {
  std::string difference;          // empty = none
  std::string undecided;           // why the play ended early without a difference
  std::vector<std::string> trace;  // what was done, with its moments
  Observation model, subject;      // at the end
  bool differs() const { return !difference.empty(); }
};

// The fields in which the subject does not show what the model says; empty = none.
std::string difference(const Observation& model, const Observation& subject,
                       const PlayOptions& options = {});

// `expected` may have {"$any": true} for anything; of a member "error" only the members it has are
// compared.
bool matches(const Json& expected, const Json& actual);

// Takes one step after the other; the generator uses it without a subject.
class Player {
 public:
  Player(const Case& c, Model& model, Subject* subject, PlayOptions options = {});
  bool step(const Step& step);  // false: the play is over
  const Played& played() const { return played_; }

 private:
  bool compare(const std::string& after);
  bool advance(Ms to, bool then_killed);
  std::vector<TaskView> tasks(bool taken);
  std::string subject_handle(const TaskView& task);
  std::vector<TaskView> over();

  Model& model_;
  Subject* subject_;
  PlayOptions options_;
  const Definition& definition_;
  Played played_;
  std::vector<TaskView> taken_;                 // all that were ever taken, as the model names them
  std::map<std::string, std::string> handles_;  // the model's → the subject's
};

Played play(const Case& c, Model& model, Subject& subject, const PlayOptions& options = {});

// Plays the cases of the seeds from `from` on, `count` of them, each on a fresh subject. At the
// first difference it shrinks the case and gives the report; "" = there was none. `undecided`
// counts the cases that ended early.
std::string explore(const std::function<std::unique_ptr<Subject>()>& make_subject, uint64_t from,
                    int count, const PlayOptions& options = {}, const Readings& readings = {},
                    int* undecided = nullptr);

std::string print(const Observation& observation);
std::string report(const Case& c, const Played& played, const Rendering& rendering = {});

}  // namespace millrace::reference
