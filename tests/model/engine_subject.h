// EngineSubject: the engine as a Subject: a processor on a real store, with replacements of the
// broker and the workers, on a virtual clock (tests/simulation/world.h). EngineSubject reads the
// workflow as YAML and does not use the model. For use by one thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/model/play.h"
#include "tests/simulation/world.h"

namespace millrace::reference {

class EngineSubject final : public Subject {
 public:
  /// The keys of a function whose tasks workers take from the work queue.
  static Rendering rendering() {
    return {.function = {{"type", "knative-namespace"}, {"service", "work"}}};
  }

  void begin(const Definition& definition, const std::string& yaml, const Json& input) override;
  void advance_to(Ms now) override;
  std::vector<TaskView> tasks() override;
  void take(const std::string& handle) override;
  void heartbeat(const std::string& handle) override;
  void answer(const std::string& handle, const Outcome& outcome) override;
  void accept(const std::string& handle) override;
  Reply call_back(const std::string& handle, const Callback& callback) override;
  void send_event(const std::string& type, const Json& payload) override;
  Reply command(Verb verb, const std::string& state) override;
  void kill() override;
  void kill_after_commit() override { dies_ = true; }
  void start_process() override;
  void broker_away() override;
  void broker_back() override;
  Observation observe() override;

 private:
  TimePoint moment(Ms at) const { return begin_ + Duration(at); }
  Ms ms_of(const Json& time) const;
  void report(const std::string& handle, decltype(TaskReport::what) what);
  std::set<std::string> accepted() const;
  void finish();

  World world_;
  TimePoint begin_ = world_.clock.now();
  /// An error that no field of an observation shows, such as a refused definition. The observation
  /// shows this error as its status, so that the play reports a difference.
  std::string broken_;
  std::string id_;
  std::set<std::string> taken_;
  int events_ = 0;
  bool dies_ = false;  ///< after the next commit
};

/// Plays the case on a new model and a new engine. If the store check at the end of a process
/// (tests/support/store_check.h) has a finding, this counts as a difference, too.
Played play_on_engine(const Case& c);

}  // namespace millrace::reference
