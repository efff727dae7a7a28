// Ports that record their calls. The test answers in their place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/ports/task_runner.h"
#include "orchestrator/ports/webhook_sender.h"

namespace millrace {

class RecordingRunner final : public TaskRunner {
 public:
  void run(Task task) override { ran.push_back(std::move(task)); }
  void keep_files(Task task) override { kept.push_back(std::move(task)); }
  void stop(const InstanceId& task) override { stopped.push_back(task); }
  bool check_started(const InstanceId& task) override {
    looked_for.push_back(task);
    return can_look;
  }
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override {
    const auto found = silences.find(task);
    return found == silences.end() ? std::nullopt : std::optional(found->second);
  }

  uint64_t waiting_bytes(std::string_view ns) const override {
    const auto found = waiting.find(ns);
    return found == waiting.end() ? 0 : found->second;
  }

  /// The tasks that were run since the last call.
  std::vector<InstanceId> take_ran() {
    std::vector<InstanceId> ids;
    for (const Task& task : std::exchange(ran, {})) ids.push_back(task.id);
    return ids;
  }

  bool can_look = true;                                  ///< the result of look()
  std::map<InstanceId, Duration> silences;               ///< the results of silence()
  std::map<std::string, uint64_t, std::less<>> waiting;  ///< the results of waiting_bytes()
  std::vector<Task> ran;
  std::vector<Task> kept;
  std::vector<InstanceId> stopped;
  std::vector<InstanceId> looked_for;
};

class RecordingSender final : public WebhookSender {
 public:
  using Done = std::function<void(std::optional<WebhookFailure>)>;

  struct Sent {
    std::string ns;
    Event event;
    std::string url;
    std::string token;
    Done done;
  };
  void deliver(const std::string& ns, const Event& event, const std::string& url,
               const std::string& token, Done done) override {
    sent.push_back({ns, event, url, token, std::move(done)});
  }

  /// The ids of the events that were sent since the last call.
  std::vector<std::string> take_sent() {
    std::vector<std::string> ids;
    for (const Sent& one : std::exchange(sent, {})) ids.push_back(one.event.id);
    return ids;
  }

  std::vector<Sent> sent;
};

}  // namespace millrace
