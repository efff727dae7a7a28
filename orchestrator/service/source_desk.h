// SourceDesk: the requests about sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

/// The largest settings of a source, in bytes of JSON.
inline constexpr size_t kMaxSourceBytes = size_t{64} << 10;

/// See SourceDesk::try_messages().
inline constexpr size_t kMostTried = 10;
inline constexpr uint64_t kTriedRange = 200;

class SourceDesk {
 public:
  using Done = std::function<void(Result<Json>)>;  ///< called once, on any thread

  virtual ~SourceDesk() = default;

  /// Creates a source, or changes its settings (parse_source): {"name","created","continues",
  /// "warnings"?: type_warnings()}.
  /// Waits for the broker unless the source continues, and for a jq worker if the settings have a
  /// mapping. Errors: those of parse_source() and check_mapping_programs();
  /// `namespace.not_found`, `source.too_many`, `source.consumers_left`, `source.no_stream`,
  /// `source.own_stream`, `source.retention`, `broker.*`, and those of the quota `storeBytes`.
  virtual void apply(std::string_view ns, const std::string& name, const Json& settings,
                     const Done& done) = 0;
  /// {"items":[…],"next":null}, by name; the items are those of source_json() (source_json.h).
  /// Error `namespace.not_found`.
  virtual Result<Json> list(std::string_view ns) = 0;
  /// One of these, with {"settings"}. Errors `namespace.not_found`, `source.not_found`.
  virtual Result<Json> get(std::string_view ns, const std::string& name) = 0;
  /// Pauses or resumes a source: {"name","paused"}. Errors as of get().
  virtual void pause(std::string_view ns, const std::string& name, bool paused,
                     const Done& done) = 0;
  /// What the newest messages would become and do; nothing is published or stored: {"stream",
  /// "items":[{"sequence","time","subject","event"?: in the JSON format,"cut"?,"error"?:{"code",
  /// "msg"},"would"?:[{"verdict","workflow","instance"?}],"duplicate"?,"similarTypes"?}]}, newest
  /// first. `error`: the message would become a dead letter; `cut`: the data of a large event is
  /// left out; `would`: the verdicts (orchestrator/why/verdict.h) that are an effect;
  /// `similarTypes`: no workflow starts on the type or waits for it, but for these. At most
  /// kMostTried of the newest kTriedRange messages of the stream. `settings`: of a source that need
  /// not exist; nullopt: of the stored one. Waits for the broker, for jq workers, and for each
  /// event for the engine thread. Errors: those of apply() and get().
  virtual Result<Json> try_messages(std::string_view ns, const std::string& name,
                                    const std::optional<Json>& settings) = 0;
  /// {"name","deleted"}. Errors as of get().
  virtual void remove(std::string_view ns, const std::string& name, const Done& done) = 0;
};

}  // namespace millrace
