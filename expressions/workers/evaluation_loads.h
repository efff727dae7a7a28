// EvaluationLoads: how many evaluations of each namespace wait for jq workers and have one. Any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace millrace {

/// The evaluations of one namespace. A slow one has exceeded its slice, or is of a lane that has
/// slow evaluations.
struct PoolLoad {
  size_t fast_waiting = 0;  ///< evaluations that no jq worker has
  size_t fast_running = 0;
  size_t slow_waiting = 0;
  size_t slow_running = 0;  ///< slow jq workers that the namespace has

  bool operator==(const PoolLoad&) const = default;
};

class EvaluationLoads {
 public:
  enum class Place : uint8_t { kFastWaiting, kFastRunning, kSlowWaiting, kSlowRunning };

  /// One evaluation, which is counted until the object ends. The object moves with its job; it is
  /// for one thread at a time.
  class Counted {
   public:
    Counted() = default;  ///< counts nothing
    /// The loads outlive the object.
    Counted(EvaluationLoads& loads, uint64_t space);
    ~Counted() { end(); }
    Counted(Counted&& other) noexcept
        : loads_(std::exchange(other.loads_, nullptr)),
          space_(other.space_),
          place_(other.place_) {}
    Counted& operator=(Counted&& other) noexcept;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    void move_to(Place place);
    void end();

   private:
    EvaluationLoads* loads_ = nullptr;
    uint64_t space_ = 0;
    Place place_ = Place::kFastWaiting;
  };

  /// By the number of the namespace (Evaluation::space); only namespaces with evaluations.
  std::map<uint64_t, PoolLoad> now() const;

 private:
  using Counts = std::array<size_t, 4>;  ///< by Place

  void add(uint64_t space, Place place);
  void remove(uint64_t space, Place place);

  mutable std::mutex mutex_;
  std::map<uint64_t, Counts> spaces_;
};

}  // namespace millrace
