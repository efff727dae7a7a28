// FakeSourceDesk: a SourceDesk in memory, for tests of the gateway and the command line. Any
// thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/service/source_desk.h"

namespace millrace {

/// Answers at once. The stream `NONE` does not exist. The settings are checked as they are by the
/// server.
class FakeSourceDesk : public SourceDesk {
 public:
  void apply(std::string_view ns, const std::string& name, const Json& settings,
             const Done& done) override;
  Result<Json> list(std::string_view ns) override;
  Result<Json> get(std::string_view ns, const std::string& name) override;
  void pause(std::string_view ns, const std::string& name, bool paused, const Done& done) override;
  /// One message, whose event would start an instance of the workflow `order`.
  Result<Json> try_messages(std::string_view ns, const std::string& name,
                            const std::optional<Json>& settings) override;
  void remove(std::string_view ns, const std::string& name, const Done& done) override;

 private:
  Status check(std::string_view ns) const;
  Result<Json> shown(const std::string& name) const;

  std::mutex mutex_;
  std::map<std::string, Json> settings_;  ///< by the name of the source
};

}  // namespace millrace
