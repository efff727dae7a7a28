// What asks for attention in a namespace: the members `attention` and `cut` of an overview, and
// the items of them that need the engine thread or the broker. Any thread except the engine thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/stored_letters.h"
#include "orchestrator/service/asking_workers.h"
#include "orchestrator/service/index_questions.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// The most items of one kind that ask for attention.
inline constexpr size_t kMostOfAKind = 20;
/// How long each look at instances, timers or tasks may take for one overview.
inline constexpr Duration kAttentionTime{15};

/// The members `attention` and `cut` of an answer, which outlives the object.
class Attention {
 public:
  explicit Attention(Json& answer);

  /// Adds {"kind",…}. If the answer has kMostOfAKind of that kind, the kind is cut instead.
  void add(Json item);
  /// Says that items of the kind may be missing. `how`: further members, "exactUntil" or "detail".
  /// If the kind is cut already, nothing changes.
  void cut(std::string_view kind, Json how = Json::object());
  /// Adds the members of another answer.
  void add_all(const Json& answer);

 private:
  Json& items_;
  Json& cut_;
};

struct AttentionParts {
  Environment& environment;
  const Clock& clock;
  Queries& queries;
  AskIndex ask;
  CountRequests count_requests;  ///< null: the broker is not asked for workers
  /// The most heads at which a look looks, and the most timers of the wheel: with more live
  /// instances the timers are asked first.
  size_t rows = 10'000;
};

/// Adds an item of the kind `unknownNamespace` for each name to which events were sent, and which
/// no namespace has. `reads`: ok, or why the broker cannot be asked. After an error the kind is
/// cut.
void add_unknown_namespaces(Environment& environment, StoredLetters& letters, const Status& reads,
                            Json& overview);

/// Adds the items of the kinds `pausedSource` and `sourceWaits`. `sources`: the answer of
/// SourceDesk::list(). After its error both kinds are cut.
void add_idle_sources(const Result<Json>& sources, Json& overview);

/// Adds the items of the kinds `retrying`, `deadline` and `noWorkers`. After an error these kinds
/// are cut. May wait for the engine thread for kIndexPatience, and for the broker for half a
/// second.
void add_attention(const AttentionParts& parts, std::string_view ns, Json& overview);

}  // namespace millrace
