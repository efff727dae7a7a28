// FakeWhyDesk: a WhyDesk in memory, for tests of the gateway and the command line. Any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string_view>

#include "orchestrator/service/why_desk.h"

namespace millrace {

class FakeWhyDesk : public WhyDesk {
 public:
  /// Event 18 has another value than one instance asks for; event 17 is of a type for which nothing
  /// listens; event 16 misses five instances; event 15 waits in a group, and came too early for an
  /// instance; no other event exists.
  Result<Json> of_event(std::string_view ns, uint64_t sequence, const WhyFilter& filter) override;
  /// As event 18, with the id, type and source of the event.
  Result<Json> of_test_event(std::string_view ns, Event event, const WhyFilter& filter) override;
  /// One instance waits, and event 18 has another value than it asks for.
  Result<Json> of_instance(std::string_view ns, const InstanceId& id,
                           const std::optional<uint64_t>& sequence,
                           const WhyFilter& filter) override;

  WhyFilter last_filter();
  std::optional<uint64_t> last_sequence();

 private:
  void keep(const WhyFilter& filter, const std::optional<uint64_t>& sequence);

  std::mutex mutex_;
  WhyFilter filter_;
  std::optional<uint64_t> sequence_;
};

}  // namespace millrace
