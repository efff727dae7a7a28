// Slab: values in numbered slots. A value stays in its slot, at the same address, until it is
// removed; then the slot is used again. Slots are allocated in chunks, so that growing moves no
// value.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace millrace {

template <class T>
class Slab {
 public:
  uint32_t add(T value) {
    uint32_t slot = end_;
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else if (end_++ % kChunk == 0) {
      chunks_.push_back(std::make_unique<T[]>(kChunk));
    }
    (*this)[slot] = std::move(value);
    return slot;
  }

  void remove(uint32_t slot) {
    (*this)[slot] = T{};
    free_.push_back(slot);
  }

  T& operator[](uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  const T& operator[](uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }

  /// All slots below this number have been used at least once.
  uint32_t end() const { return end_; }
  size_t size() const { return end_ - free_.size(); }

 private:
  static constexpr uint32_t kChunk = 1024;

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<uint32_t> free_;
  uint32_t end_ = 0;
};

}  // namespace millrace
