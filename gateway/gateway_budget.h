// GatewayBudget: a bound on what all connections use together, such as bytes or places. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace millrace {

class GatewayBudget {
 public:
  explicit GatewayBudget(uint64_t most) : most_(most) {}

  /// A part of the budget, which is free again when the lease is destroyed. One thread at a time.
  class Lease {
   public:
    Lease() = default;  ///< a lease without a budget, which cannot grow
    explicit Lease(std::shared_ptr<GatewayBudget> budget) : budget_(std::move(budget)) {}
    Lease(Lease&& other) noexcept
        : budget_(std::move(other.budget_)), size_(std::exchange(other.size_, 0)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(size_, other.size_);
      return *this;
    }
    ~Lease() { release(); }

    /// Grows to that size, if the budget has as much left; a lease does not shrink.
    bool grow_to(uint64_t size) {
      if (size <= size_) return true;
      if (!budget_) return false;
      if (!budget_->take(size - size_)) {
        ++budget_->refused_;
        return false;
      }
      size_ = size;
      return true;
    }

    void release() {
      if (budget_) budget_->used_ -= std::exchange(size_, 0);
    }

   private:
    std::shared_ptr<GatewayBudget> budget_;
    uint64_t size_ = 0;
  };

  uint64_t used() const { return used_; }
  /// How often a lease could not grow.
  uint64_t refused() const { return refused_; }

 private:
  bool take(uint64_t part) {
    uint64_t used = used_;
    do {
      if (part > most_ || used > most_ - part) return false;
    } while (!used_.compare_exchange_weak(used, used + part));
    return true;
  }

  const uint64_t most_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

}  // namespace millrace
