// Group corrections: which event, sent again in which way, completes an incomplete group of an
// eventsAnd start. One is proposed; the others are alternatives, since each that is followed starts
// an instance of its own. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "orchestrator/service/judged_listener.h"

namespace millrace {

/// The longest value of a correlation, in bytes, that an answer shows. A longer one is cut, and is
/// no value of a correction.
inline constexpr size_t kMostOfACorrelation = 256;

/// Of two incomplete groups whose values are probably misspelled: the event that is in the wrong
/// one. null: there is none, or a sequence does not name it.
///
/// {"differs","sequence","own","namespace","toNamespace"?,"attributes","completes","says"}.
/// "differs": "correlate", "data", "type" or "namespace". "own": whether it is the event that is
/// judged. "namespace": in which it is. "attributes": the values that a replay gives it.
/// "completes": whether a group is complete then.
Json correction_of_move(const JudgedListener& one, const NearGroup& other,
                        const EventStanding& event);

/// What is known about a partner (see "partners" of the answer) besides its JSON.
struct PartnerPlace {
  std::string_view ns;             ///< of the judged event
  std::optional<uint64_t> judged;  ///< the sequence of the judged event; nullopt: it is not sent
  bool is_last_missing = false;    ///< the group of the judged event waits for nothing else
  /// Of a partner in another namespace: it waits there in a group of the workflow with this id that
  /// the judged event would complete.
  bool is_in_half_group = false;
};

/// The correction that brings the partner and the judged event together, in the form of
/// correction_of_move(). If each waits in a group of a namespace of its own, the later one of the
/// two is sent to the namespace of the earlier one, whichever of them is judged.
Json correction_of_partner(const Json& partner, const PartnerPlace& place);

/// Sorts the corrections, the best one first: of an event that waits in another incomplete group,
/// of a value that only the data has, of a type, of a namespace. Those that complete a group come
/// before those that do not. One event is in the list once.
void sort_corrections(Json& corrections);

}  // namespace millrace
