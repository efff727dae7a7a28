// FakeOrigins: streams of other programs, in memory. For one thread, except that a LocalService may
// own one.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloudevents/subject.h"
#include "orchestrator/ports/origin_streams.h"

namespace millrace {

class FakeOrigins final : public OriginStreams {
 public:
  struct Stream {
    uint64_t created = 1'000;
    uint64_t last = 0;
    bool keeps_messages = true;
    bool is_work_queue = false;
    std::map<uint64_t, OriginMessage> messages;  ///< by sequence
    std::set<std::string> kept;                  ///< the consumers that stay

    bool needs_interest() const { return !keeps_messages && !is_work_queue; }
  };

  /// Stores a message a millisecond after the one before; returns its sequence. A stream that needs
  /// interest drops it if no consumer stays there.
  uint64_t add(const std::string& stream, const std::string& subject, const std::string& data) {
    Stream& to = streams[stream];
    time_ += Duration(1);
    ++to.last;
    if (to.needs_interest() && to.kept.empty()) return to.last;
    to.messages[to.last] = {.sequence = to.last,
                            .stamped = time_,
                            .message = {.subject = subject, .headers = {}, .data = data}};
    return to.last;
  }
  /// Stores a CloudEvent of that type and id.
  uint64_t add_event(const std::string& stream, const std::string& subject, const std::string& type,
                     const std::string& id) {
    return add(
        stream, subject,
        R"({"specversion":"1.0","id":")" + id + R"(","source":"/o","type":")" + type + "\"}");
  }
  /// The stream loses its newest messages; the next ones get their sequences.
  void roll_back(const std::string& stream, uint64_t to) {
    Stream& rolled = streams[stream];
    rolled.messages.erase(rolled.messages.upper_bound(to), rolled.messages.end());
    rolled.last = to;
  }
  void recreate(const std::string& stream) {
    const uint64_t created = streams[stream].created + 1;
    streams[stream] = {.created = created, .messages = {}};
  }
  /// All readers end at their next read, as if their consumers were deleted.
  void delete_consumers() { ++deletions_; }

  Result<OriginState> find(const std::string& stream) override {
    if (failure) return tl::unexpected(*failure);
    const auto found = streams.find(stream);
    if (found == streams.end()) return fail("source.no_stream", "no stream " + stream);
    const Stream& one = found->second;
    return OriginState{.created = one.created,
                       .first = one.messages.empty() ? one.last + 1 : one.messages.begin()->first,
                       .last = one.last,
                       .keeps_messages = one.keeps_messages,
                       .is_work_queue = one.is_work_queue};
  }
  Result<std::optional<OriginMessage>> message_at(const std::string& stream,
                                                  uint64_t sequence) override {
    ++fetched;
    const auto& messages = streams[stream].messages;
    const auto found = messages.find(sequence);
    if (found == messages.end()) return std::optional<OriginMessage>();
    return std::optional(found->second);
  }
  Result<uint64_t> sequence_before(const std::string& stream, TimePoint time) override {
    for (const auto& [sequence, message] : streams[stream].messages) {
      if (message.stamped >= time) return sequence - 1;
    }
    return streams[stream].last;
  }
  Result<std::unique_ptr<OriginReader>> open(const OriginWish& wish) override {
    opened.push_back(wish);
    if (wish.stays) {
      Stream& held = streams[wish.stream];
      held.kept.insert(wish.consumer);
      // The consumer of before goes, and no other one wants what is applied.
      held.messages.erase(held.messages.begin(), held.messages.upper_bound(wish.after));
    }
    return std::unique_ptr<OriginReader>(std::make_unique<Reader>(*this, wish));
  }

  Status release_consumer(const std::string& stream, const std::string& consumer) override {
    if (failure) return tl::unexpected(*failure);
    if (consumer == held_consumer) return fail("broker.refused", "it may not be deleted");
    streams[stream].kept.erase(consumer);
    return {};
  }

  std::string source_stream_name(std::string_view ns, std::string_view source) const override {
    return "MILLRACE_SOURCE_" + std::string(ns) + "+" + std::string(source);
  }
  Result<OriginState> find_source_stream(std::string_view ns, std::string_view source) override {
    return find(source_stream_name(ns, source));
  }
  Result<OriginState> ensure_source_stream(const SourceStream& wanted) override {
    if (failure) return tl::unexpected(*failure);
    const std::string name = source_stream_name(wanted.ns, wanted.source);
    if (!streams.contains(name)) streams[name].created = ++made_;
    wishes.insert_or_assign(name, wanted);
    if (on_ensure) on_ensure();
    return find(name);
  }
  Status remove_source_stream(std::string_view ns, std::string_view source) override {
    if (failure) return tl::unexpected(*failure);
    streams.erase(source_stream_name(ns, source));
    return {};
  }

  std::map<std::string, Stream> streams;
  std::map<std::string, SourceStream> wishes;  ///< what streams of sources were made with, by name
  bool loses_acknowledgements = false;
  std::string held_consumer;        ///< a consumer that cannot be deleted
  std::function<void()> on_ensure;  ///< called when such a stream was made or looked at
  std::vector<OriginWish> opened;
  size_t fetched = 0;                   ///< how often message_at() was called
  std::optional<Error> failure;         ///< of find(), and of what changes something
  std::function<void()> while_reading;  ///< called once, by the next read

 private:
  class Reader final : public OriginReader {
   public:
    Reader(FakeOrigins& origins, OriginWish wish)
        : origins_(origins), wish_(std::move(wish)), deletions_(origins.deletions_) {
      if (wish_.consumes && !wish_.stays) wish_.after = 0;  // all that is not acknowledged
    }

    Result<std::vector<OriginMessage>> read(size_t most, Duration) override {
      if (deletions_ != origins_.deletions_) {
        return fail("source.interrupted", "the consumer was deleted");
      }
      has_read_ = true;
      std::vector<OriginMessage> messages;
      const auto& all = origins_.streams[wish_.stream].messages;
      for (auto one = all.upper_bound(wish_.after); one != all.end() && messages.size() < most;
           ++one) {
        wish_.after = one->first;
        if (!selects(one->second.message.subject)) continue;
        messages.push_back(one->second);
        if (wish_.consumes) messages.back().reply = std::to_string(one->first);
      }
      if (const auto act = std::exchange(origins_.while_reading, nullptr)) act();
      return messages;
    }
    std::optional<uint64_t> pending() override {
      if (!has_read_) return std::nullopt;
      const auto& all = origins_.streams[wish_.stream].messages;
      uint64_t behind = 0;
      for (auto one = all.upper_bound(wish_.after); one != all.end(); ++one) {
        if (selects(one->second.message.subject)) ++behind;
      }
      return behind;
    }
    void acknowledge(const std::vector<std::string>& replies) override {
      if (origins_.loses_acknowledgements) return;
      for (const std::string& reply : replies) {
        origins_.streams[wish_.stream].messages.erase(std::stoull(reply));
      }
    }

   private:
    bool selects(const std::string& subject) const {
      return wish_.subjects.empty() || std::any_of(wish_.subjects.begin(), wish_.subjects.end(),
                                                   [&](const std::string& filter) {
                                                     return subject_covers(filter, subject);
                                                   });
    }

    FakeOrigins& origins_;
    OriginWish wish_;
    const uint64_t deletions_;
    bool has_read_ = false;
  };

  TimePoint time_ = from_millis(1'700'000'000'000);
  uint64_t deletions_ = 0;
  uint64_t made_ = 5'000;  ///< the newest creation time of a stream of a source
};

}  // namespace millrace
