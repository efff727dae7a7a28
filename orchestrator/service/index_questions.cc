#include "orchestrator/service/index_questions.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"

namespace millrace {
namespace {

/// Shared by the caller and the engine thread, which may answer when the caller has given up.
struct PendingQuestion {
  std::mutex lock;
  std::condition_variable answered;
  /// Null once the question has run or the caller has given up. The question may refer to the
  /// caller's variables, so it runs under the lock.
  const std::function<void(const EngineMemory& memory)>* question = nullptr;  ///< guarded by `lock`
  std::optional<Status> outcome;                                              ///< guarded by `lock`
};

}  // namespace

Status ask_index(Intake& intake, std::chrono::milliseconds at_most,
                 const std::function<void(const EngineMemory& memory)>& question) {
  const auto pending = std::make_shared<PendingQuestion>();
  pending->question = &question;
  intake.ask({.answer =
                  [pending](const EngineMemory& memory) {
                    const std::lock_guard guard(pending->lock);
                    if (pending->question == nullptr) return;
                    (*pending->question)(memory);
                    pending->question = nullptr;
                    pending->outcome = Status();
                    pending->answered.notify_one();
                  },
              .refuse =
                  [pending](const Error& why) {
                    const std::lock_guard guard(pending->lock);
                    pending->question = nullptr;
                    pending->outcome = tl::unexpected(why);
                    pending->answered.notify_one();
                  }});
  std::unique_lock guard(pending->lock);
  pending->answered.wait_for(guard, at_most, [&] { return pending->outcome.has_value(); });
  pending->question = nullptr;
  if (pending->outcome) return *pending->outcome;
  return fail("busy", fmt::format("the engine thread has not answered within {} ms; try again",
                                  at_most.count()));
}

AskIndex index_asker(Intake& intake, std::chrono::milliseconds at_most) {
  return [&intake, at_most](const std::function<void(const EngineMemory& memory)>& question) {
    return ask_index(intake, at_most, question);
  };
}

bool remembers(const EngineMemory& memory, const Fingerprint& known_as) {
  return memory.dedupe.seen(known_as) || memory.kept_events.seen(known_as);
}

bool is_remembered(const AskIndex& ask, const Fingerprint& known_as) {
  bool is_known = false;
  const Status asked =
      ask([&](const EngineMemory& memory) { is_known = remembers(memory, known_as); });
  return asked && is_known;
}

}  // namespace millrace
