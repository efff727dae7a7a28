// Situations in which an event has an effect or none, and what `why` and `try` answer about them
// over HTTP on a running server. A situation is a row of a table: a workflow, what a user does, and
// the verdict and hint that the answer must have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/support/millrace_server.h"
#include "tests/support/raw_nats_client.h"

namespace millrace {

class SituationRunner;

/// One step of a situation.
using SituationStep = std::function<void(SituationRunner&)>;

struct Situation {
  /// What is special, in lower case letters: the id of the workflow and the type of its events.
  std::string name;
  /// The workflow, without its id; `NAME` is replaced by the name. Empty: a step applies it.
  std::string definition;
  std::vector<SituationStep> steps;
  /// The verdict on the last event, and the hint of the first predicate that does not hold:
  /// `predicate case`; `predicate -` without a hint; see summary_of().
  std::string expected;
  std::string says = {};          ///< a part of the sentence of the answer
  Json members = Json::object();  ///< members that the answer has about the listener
};

/// The situations by theme. The names of all of them differ.
std::vector<Situation> situations_of_predicates();
std::vector<Situation> situations_of_waits();
std::vector<Situation> situations_of_starts();

/// The verdict on a listener in an answer, and the hint of its first predicate that does not hold.
std::string summary_of(const Json& judged);

/// Runs situations on one server, one after the other, and fails the test for each answer that is
/// not as expected. The answers are about the newest instance that a request of the situation has
/// started, and otherwise about the start of the workflow. About an instance, the answers from the
/// event and from the instance must be the same.
class SituationRunner {
 public:
  /// Both outlive the SituationRunner. No other part may send events to the server.
  SituationRunner(MillraceServer& millrace, RawNatsClient& client)
      : millrace_(millrace), client_(client) {}

  void run(const Situation& situation);

  /// The text with the name of the situation instead of `NAME`, with the id of the newest instance
  /// instead of `ID`, and with that of its first one instead of `FIRST`.
  std::string filled_in(std::string text) const;

  // What the steps below do; each step says more.

  void apply(std::string_view suffix, const std::string& definition) const;
  void start(const Json& input, std::string_view status);
  void reach(std::string_view state) const;
  void end(std::string_view status) const;
  void send(const Json& members, std::string_view suffix, bool is_asked);
  void publish(const std::string& bytes);
  void replay(const std::string& query);
  void try_event(const Json& event);
  void request(std::string_view method, const std::string& path, const std::string& body = "");
  void drop_group();
  void await_verdict(std::string_view verdict);
  void set_settings(const Json& settings);

  /// An event with a new id, of the type NAME with the suffix; `members`: further members.
  Json new_event(const Json& members, std::string_view suffix);
  /// The event that was sent last.
  const Json& last_event() const { return last_; }
  /// Judges, and fails the test if the answer is not as expected.
  void check();

 private:
  void await_applied();
  Json answer() const;
  Json listener_in(const Json& answer) const;
  Json judged() const;

  MillraceServer& millrace_;
  RawNatsClient& client_;
  const Situation* situation_ = nullptr;
  std::vector<std::string> instances_;  ///< that the situation has started
  Json last_;
  std::optional<Json> tried_;  ///< the answer of `try`; nullopt: the event was sent
  uint64_t sequence_ = 0;      ///< of the newest event of the stream
  uint64_t asked_ = 0;         ///< of the event that is asked about
  uint64_t events_ = 0;
  bool has_settings_ = false;
};

/// The steps. `suffix` makes further types and workflows of a situation: `two` for NAMEtwo.
namespace steps {

/// Applies the definition as the workflow NAME with the suffix.
SituationStep applies(std::string definition, std::string suffix = "");
/// Starts an instance by a request, and waits until it has the status; an empty one: does not wait.
SituationStep starts(Json input, std::string status = "");
/// Starts an instance whose input has that `order`, and waits until its status is `waiting`.
SituationStep waits(std::string order = "o-1");
/// Waits until the newest instance is in that state.
SituationStep reaches(std::string state);
/// Waits until the newest instance has ended with that status.
SituationStep ends(std::string status);
/// Sends an event with these members over HTTP, and waits until it is applied. It is the one that
/// is asked about.
SituationStep sends(Json members = Json::object(), std::string suffix = "");
/// As sends(), but the event that is asked about stays the same.
SituationStep sends_other(Json members = Json::object(), std::string suffix = "");
/// Publishes the last event again, as a NATS client without a message id, and asks about the copy.
SituationStep copies();
/// Replays the asked event with that query, and asks about the new event.
SituationStep replays(std::string query);
/// Asks about an event that is not sent.
SituationStep tries(Json members = Json::object(), std::string suffix = "");
SituationStep tries_copy();
/// Tries an event, compares the answer with what the situation expects, and sends the event.
SituationStep tries_and_sends(Json members = Json::object());
SituationStep posts(std::string path);
/// Drops the only group of the workflow.
SituationStep drops_group();
/// Waits until the verdict on the asked event is that one.
SituationStep is_judged(std::string verdict);
/// Sets the settings of the namespace until the end of the situation.
SituationStep sets(Json settings);

}  // namespace steps

/// A test that runs situations.
class WhySituations : public MillraceTest {
 protected:
  void run(const std::vector<Situation>& situations) {
    for (const Situation& one : situations) runner_.run(one);
  }

  std::unique_ptr<RawNatsClient> client_ = nats_.client();
  SituationRunner runner_{millrace_, *client_};
};

}  // namespace millrace
