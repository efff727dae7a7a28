// NumberSet: a set of row numbers, one bit for each. Row numbers are dense, so ten million of them
// need little more than a megabyte. For use by one thread.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace millrace {

class NumberSet {
 public:
  /// Adds a number. False: it was already in the set.
  bool insert(uint64_t number) {
    std::unique_ptr<Page>& page = pages_[number / kPage];
    if (page == nullptr) page = std::make_unique<Page>();
    if (page->test(number % kPage)) return false;
    page->set(number % kPage);
    return true;
  }

  bool contains(uint64_t number) const {
    const auto found = pages_.find(number / kPage);
    return found != pages_.end() && found->second->test(number % kPage);
  }

 private:
  static constexpr size_t kPage = 4096;
  using Page = std::bitset<kPage>;

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace millrace
