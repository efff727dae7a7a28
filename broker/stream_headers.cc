#include "broker/stream_headers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "broker/nats_status.h"
#include "broker/pull_consumer.h"
#include "broker/resume.h"
#include "broker/spent_messages.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

/// If this many consumers in a row have delivered no message, the reader fetches one message
/// without a consumer: the message may be what ends the consumers.
constexpr int kMostBarren = 3;

/// How long the reader waits for the next message before it fetches that message without a
/// consumer: the broker may count messages as pending that are not there, and then sends nothing
/// but heartbeats.
constexpr Duration kPatience(20);

class HeaderReader {
 public:
  HeaderReader(Connection& connection, const HeaderRange& range, const std::function<bool()>& stops,
               const std::function<bool(StoredHeaders)>& see)
      : connection_(connection), range_(range), stops_(stops), see_(see) {}

  Status run() {
    done_ = range_.info.first_sequence > range_.last;
    int barren = 0;
    while (!done_) {
      const uint64_t before = next_;
      TRY(read_with_consumer());
      barren = next_ > before ? 0 : barren + 1;
      if (done_ || barren < kMostBarren) continue;
      barren = 0;
      TRY(fetch_next());
    }
    return {};
  }

 private:
  Status read_with_consumer();
  Status fetch_next();
  PullConsumer::Got next_of(PullConsumer& consumer, NatsMsgHandle& message,
                            DeliveryNumbers& numbers);
  Status add_delivered(NatsMsgHandle delivered, const DeliveryNumbers& numbers);
  void add(StoredHeaders stored);

  Connection& connection_;
  const HeaderRange& range_;
  const std::function<bool()>& stops_;
  const std::function<bool(StoredHeaders)>& see_;
  uint64_t next_ = 0;  ///< all messages before this sequence are read; 0: nothing is known yet
  bool done_ = false;
  bool is_patient_ = false;  ///< the next message has just been fetched
  SpentMessages spent_;
};

/// Reads with one consumer until all is read or the consumer ends.
Status HeaderReader::read_with_consumer() {
  using Got = PullConsumer::Got;
  ResumePoint from{.sequence = std::max<uint64_t>(next_ == 0 ? range_.first : next_, 1)};
  if (next_ == 0) from.since = range_.since;
  const auto consumer = TRY(PullConsumer::open_range(connection_, range_.stream, range_.info, from,
                                                     !range_.whole, range_.pull));
  next_ = std::max(next_, consumer->start().sequence + 1);
  if (consumer->started_at_the_end()) TRY(fetch_next());
  while (!done_) {
    if (stops_()) {
      return fail("broker.unreachable",
                  fmt::format("reading the messages of stream {} was interrupted at message {}",
                              range_.stream.name, next_));
    }
    NatsMsgHandle message;
    DeliveryNumbers numbers;
    switch (next_of(*consumer, message, numbers)) {
      case Got::kMessage: {
        TRY(add_delivered(std::move(message), numbers));
        if (!done_ && numbers.pending == 0) TRY(fetch_next());
        break;
      }
      case Got::kNothing:
      case Got::kBusy:
        break;
      case Got::kIdle:  // the broker is slow, or does not have the next messages any more
        TRY(fetch_next());
        break;
      case Got::kDestroyed:
        TRY(fetch_next());
        consumer->skip();
        break;
      case Got::kGap:
      case Got::kBroken:
        return {};
    }
  }
  return {};
}

/// The next message of the consumer. If it does not come soon, it is fetched, and only then the
/// reader waits as long as heartbeats come.
PullConsumer::Got HeaderReader::next_of(PullConsumer& consumer, NatsMsgHandle& message,
                                        DeliveryNumbers& numbers) {
  using Got = PullConsumer::Got;
  if (is_patient_) {
    is_patient_ = false;
    return consumer.next(true, message, numbers);
  }
  const Got got = consumer.next_within(kPatience, message, numbers);
  if (got != Got::kNothing) return got;
  is_patient_ = true;
  return Got::kIdle;
}

/// Fetches the next message without a consumer. If there is none, all is read. The broker's count
/// of the messages that follow is not enough to know that: it may be outdated.
Status HeaderReader::fetch_next() {
  Result<StoredMessage> stored = fetch_stored(
      connection_, range_.stream.name, {{"seq", next_}, {"next_by_subj", range_.stream.subjects}});
  if (stored) {
    add({stored->sequence, stored->stamped, std::move(stored->message), 0});
    return {};
  }
  if (stored.error().code != "broker.not_found") return tl::unexpected(std::move(stored).error());
  done_ = true;  // no message follows
  return {};
}

/// Adds a message of the consumer. nats.c loses the order of headers, and bytes of some headers, so
/// a message with headers that must be whole is fetched again if nats.c may have misread it.
Status HeaderReader::add_delivered(NatsMsgHandle delivered, const DeliveryNumbers& numbers) {
  StoredHeaders stored{.sequence = numbers.stream_sequence,
                       .stamped = numbers.stamped,
                       .message = {},
                       .following = numbers.pending};
  const bool sure = read_message(delivered.get(), stored.message);
  spent_.add(std::move(delivered));
  if (!sure && range_.whole && stored.sequence >= next_) {
    Result<StoredMessage> again =
        fetch_stored(connection_, range_.stream.name, {{"seq", stored.sequence}});
    if (!again && again.error().code != "broker.not_found") {
      return tl::unexpected(std::move(again).error());
    }
    if (again) stored.message = std::move(again->message);
  }
  add(std::move(stored));
  return {};
}

/// A message that was fetched without a consumer may be delivered afterwards: it is not new then.
void HeaderReader::add(StoredHeaders stored) {
  if (stored.sequence < next_) return;
  next_ = stored.sequence + 1;
  done_ = stored.sequence >= range_.last;
  if (stored.sequence > range_.last) return;
  const bool goes_on = see_(std::move(stored));
  done_ = done_ || !goes_on;
}

}  // namespace

Status each_header(Connection& connection, const HeaderRange& range,
                   const std::function<bool()>& stops,
                   const std::function<bool(StoredHeaders)>& see) {
  return HeaderReader(connection, range, stops, see).run();
}

}  // namespace millrace
