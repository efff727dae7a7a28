// CallRun: one instance whose calls a test answers, in a simulated world: the real engine on a
// store, the service behind the API, and the files of calls. The process can die at each answer.
// Each stimulus is one row of a readable trace, as with InstanceRun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/service/local_service.h"
#include "tests/simulation/world.h"
#include "tests/support/folder.h"
#include "tests/tables/instance_run.h"
#include "tests/tables/served_files.h"

namespace millrace {

/// A task by its number, in the order in which the tasks were first handed out, from 1.
struct TaskName {
  size_t number = 1;
  size_t delivery = 0;  ///< whose key is used, from 1; 0: the newest one
};

/// When the process dies with a stimulus. The next process starts at once.
enum class Death : uint8_t {
  kNone,
  kBefore,  ///< before it has stored what the stimulus does
  kAfter,   ///< when that is on disk, before it answers
};

class CallRun {
 public:
  /// Makes the service of the present process.
  using MakeService = std::function<std::unique_ptr<LocalService>(CallFiles& files)>;

  /// Applies the definition, which must be valid. `world` must be new, and outlive the run.
  CallRun(World& world, MakeService make_service, std::string yaml, Json input);
  ~CallRun();

  /// Begins a row: moves the clock from one deadline to the next, and lets the engine act at each.
  void begin(Duration since_start, std::string input);
  /// Ends the row when nothing more happens at this time.
  void finish(Death death = Death::kNone);

  // Stimuli, each between begin() and finish().

  void enter();
  void report(const TaskName& task, decltype(TaskReport::what) what);
  /// A callback of the service, or the command of an operator. `has_key`: whether it has a key that
  /// the server has made.
  void call_back(const TaskName& task, AnsweredBy by, std::string_view verb, std::string body,
                 bool has_key = true);
  void command(Command command);
  void list_files(const TaskName& task);
  void read_file(const TaskName& task, std::string_view name);
  /// Writes a file, or `times` files with the numbers from 1 behind the name.
  void write_file(const TaskName& task, const std::string& name, std::string_view bytes,
                  size_t times = 1);

  const std::vector<TraceRow>& rows() const { return rows_; }
  Duration elapsed() const { return world_.clock.elapsed(); }
  size_t tasks() const { return tasks_.size(); }
  /// Precondition: the instance was entered.
  const InstanceId& instance() const { return *id_; }
  const std::string& workflow() const { return workflow_; }

 private:
  void settle();
  bool pass_on();
  bool take_reports();
  void die(Death death);
  void hand_out(const InstanceId& id);
  std::string name_of(const InstanceId& task) const;
  CallAccess access_to(const TaskName& task) const;
  Status write_one(const CallAccess& access, const std::string& name, std::string_view bytes);
  void note(std::string line) { rows_.back().does.push_back(std::move(line)); }
  void note_answer();
  void note_history();
  void note_variables();
  void note_instance();
  std::string shown_at(const Json& time) const;

  World& world_;
  const MakeService make_service_;
  const std::string yaml_;
  const Json input_;
  const std::string workflow_;  ///< its id
  const Folder folder_;         ///< of the files
  ServedFiles files_;
  std::unique_ptr<LocalService> service_;
  std::optional<InstanceId> id_;   ///< nullopt: it was not entered yet
  std::vector<InstanceId> tasks_;  ///< by number
  size_t handed_out_ = 0;          ///< how many hand-outs and stops the files have seen
  size_t kept_ = 0;
  size_t stopped_ = 0;
  std::shared_ptr<std::optional<Result<Json>>> answer_;  ///< of the row; null: nothing has asked
  bool has_died_ = false;
  // What the rows so far have shown.
  std::vector<TraceRow> rows_;
  size_t records_ = 0;
  std::map<std::string, std::string> variables_;  ///< their values, by scope and key
  std::map<size_t, std::string> calls_;           ///< their status, by index
  std::string data_;
  bool has_ended_ = false;
};

}  // namespace millrace
