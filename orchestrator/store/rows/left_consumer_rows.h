// Left consumers: the consumers at the broker that no source has any more, and that must be
// deleted. Rows `left-consumer/` of table `meta`: the commit that takes the consumer from its
// source writes the row, and a later commit erases it when the broker does not have the consumer.
// So a process that dies between the two leaves no consumer for which a stream keeps messages. A
// damaged row gives an error that names it (damage.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/origin_mark.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfLeftConsumers = 12;

/// The consumer of a source that consumes its stream. A source has one name at all streams.
struct SourceConsumer {
  SourceId source{};
  std::string stream;  ///< the name of the origin stream
  std::string name;    ///< consumer_name() (orchestrator/batch/source_consumer.h)

  auto operator<=>(const SourceConsumer&) const = default;
};

/// The bytes of a row, which has the name of the consumer.
std::string encode_consumer_name(const std::string& name);
/// Decoding fails with `store.corrupt`.
Result<std::string> decode_consumer_name(std::string_view bytes);

/// The source and the stream in the key of a row, without the name of the consumer; nullopt: the
/// key of a left consumer has another form.
std::optional<SourceConsumer> left_consumer_place(std::string_view key);

void write_left_consumer(Transaction& tx, const SourceConsumer& consumer);
void erase_left_consumer(Transaction& tx, const SourceConsumer& consumer);
/// Visits all left consumers, in ascending order.
Status each_left_consumer(const View& view, const std::function<void(const SourceConsumer&)>& see,
                          const OnDamage& damaged = nullptr);

}  // namespace millrace
