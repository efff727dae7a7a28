// BrokerTopics: the topics `events` and `dead` of LiveHub, whose content is at the broker. While
// clients watch them, it asks LiveReads twice a second for the events that the engine has applied
// since, and once a second for the dead letters, of each namespace for all its streams together. It
// asks again when it has the answer. Thread of the LiveHub.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "orchestrator/service/live_reads.h"
#include "orchestrator/service/live_stream.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class BrokerTopics {
 public:
  /// The most bytes of the items of one message; a single item may have more.
  static constexpr size_t kMostItemBytes = size_t{64} << 10;

  /// `reads` outlives the object.
  explicit BrokerTopics(LiveReads& reads) : reads_(reads) {}

  /// Asks for what has come since, for streams whose place is known. `applied`: how far the engine
  /// has applied the event stream; nullopt: not asked for now. `letters`: asks for dead letters,
  /// too.
  void ask(std::vector<LiveStream>& streams, const std::optional<Cursor>& applied, bool letters);

  /// Takes the answers that have come. Returns whether there are some to send.
  bool take();

  /// Sends what the answers have. The view is younger than the answers. `id` makes the id of a
  /// message for a stream.
  void send(const View& view, std::vector<LiveStream>& streams,
            const std::function<std::string(const LiveStream&)>& id);

 private:
  struct Space {
    bool asks_events = false;   ///< an answer will come
    bool asks_letters = false;  ///< an answer will come
    std::optional<LettersState> letters;
    bool is_watched = false;  ///< in this step
  };

  void ask_events(std::vector<LiveStream>& streams, const Cursor& now);
  void ask_letters(const std::vector<LiveStream>& streams);
  void send_events(const View& view, LiveEventsAnswer& answer, std::vector<LiveStream>& streams,
                   const std::function<std::string(const LiveStream&)>& id);
  void send_letters(LiveLettersAnswer& answer, std::vector<LiveStream>& streams,
                    const std::function<std::string(const LiveStream&)>& id);

  LiveReads& reads_;
  std::map<NamespaceNumber, Space> spaces_;  ///< those that are watched or were asked for
  std::vector<LiveAnswer> answers_;          ///< not sent yet
};

}  // namespace millrace
