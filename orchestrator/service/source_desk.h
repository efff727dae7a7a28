// SourceDesk: the requests about sources.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

class SourceDesk {
 public:
  using Done = std::function<void(Result<Json>)>;  ///< called once, on any thread

  virtual ~SourceDesk() = default;

  /// Creates a source, or changes its settings (parse_source): {"name","created","continues"}.
  /// Waits for the broker unless the source continues. Errors: those of parse_source();
  /// `namespace.not_found`, `source.too_many`, `source.no_stream`, `source.own_stream`,
  /// `source.retention`, `broker.*`, and those of the quota `storeBytes`.
  virtual void apply(std::string_view ns, const std::string& name, const Json& settings,
                     const Done& done) = 0;
  /// {"items":[…],"next":null}, by name; the items are those of source_json() (sources.h). Error
  /// `namespace.not_found`.
  virtual Result<Json> list(std::string_view ns) = 0;
  /// One of these, with {"settings"}. Errors `namespace.not_found`, `source.not_found`.
  virtual Result<Json> get(std::string_view ns, const std::string& name) = 0;
  /// Pauses or resumes a source: {"name","paused"}. Errors as of get().
  virtual void pause(std::string_view ns, const std::string& name, bool paused,
                     const Done& done) = 0;
  /// {"name","deleted"}. Errors as of get().
  virtual void remove(std::string_view ns, const std::string& name, const Done& done) = 0;
};

}  // namespace millrace
