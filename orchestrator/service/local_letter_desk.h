// LocalLetterDesk: the LetterDesk of the millrace in this process. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/stored_letters.h"
#include "orchestrator/service/letter_desk.h"
#include "orchestrator/service/letter_json.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The dead letters that a text names.
struct FoundLetters {
  Json items = Json::array();  ///< {"kind":"deadLetter","id","label"}, at most kMostFoundLetters
  bool is_complete = true;     ///< there are no others
};
inline constexpr size_t kMostFoundLetters = 3;

class LocalLetterDesk final : public LetterDesk {
 public:
  /// All parts outlive the object.
  struct Parts {
    Environment& environment;
    const Clock& clock;
    StoredLetters& letters;
    Publisher& publisher;
    std::string prefix;  ///< of the streams
    /// Whether `count` more events of the namespace may be published now.
    std::function<Status(std::string_view ns, size_t count)> admit;
  };

  explicit LocalLetterDesk(Parts parts) : parts_(std::move(parts)) {}

  Result<Json> list(std::string_view ns, const LetterFilter& filter) override;
  Result<Json> get(std::string_view ns, uint64_t id) override;
  Result<Json> replay(std::string_view ns, uint64_t id,
                      const std::optional<Event>& corrected) override;
  Result<Json> replay_all(std::string_view ns, const std::string& reason, uint64_t from) override;
  Result<Json> remove(std::string_view ns, uint64_t id) override;
  Result<Json> remove_all(std::string_view ns, const std::string& reason) override;

  /// The dead letters of an existing namespace whose id is the text, or whose reason or event id it
  /// is: of the latter, the newest among the newest kMostStoredEvents.
  Result<FoundLetters> find(std::string_view ns, std::string_view text) const;

  /// How many dead letters with that reason there are under the name; an empty reason: all.
  Result<uint64_t> left(std::string_view ns, const std::string& reason) const;

 private:
  /// nullopt: no namespace has the name.
  Result<std::optional<NamespaceIdentity>> identity_of(std::string_view ns) const;
  Result<NamespaceIdentity> existing(std::string_view ns) const;
  /// A dead letter of the namespace that now has the name.
  Result<StoredEvent> letter_of(std::string_view ns, uint64_t id) const;
  Result<size_t> admit_some(std::string_view ns, size_t count) const;
  NatsMessage message_of(std::string_view ns, uint64_t id, int64_t created,
                         const Event& event) const;

  const Parts parts_;
};

}  // namespace millrace
