// Page: a list in the form in which queries return it, {"items":[…],"next"}: at most the requested
// number of items, and the cursor of the next page, null on the last page. A page of large items
// ends earlier, after about a mebibyte. Any thread, one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"

namespace millrace {

class Page {
 public:
  /// A page ends with the item with which its texts have as many bytes.
  static constexpr size_t kMostBytes = size_t{1} << 20;

  /// `limit`: the number of items, at least 1.
  explicit Page(size_t limit) : limit_(limit) {}

  /// Whether another item may be added. If there is no room, another page follows this page.
  bool has_room() {
    if ((items_.size() < limit_ && bytes_ < kMostBytes) || !last_) return true;
    next_ = *last_;
    return false;
  }

  /// Adds an item; `cursor` is where the next page begins if this item is the last of its page; an
  /// item without a cursor is never the last of a page. `bytes`: the size of its large texts.
  void add(Json item, std::optional<std::string> cursor = std::nullopt, size_t bytes = 0) {
    items_.push_back(std::move(item));
    bytes_ += bytes;
    if (cursor) last_ = std::move(cursor);
  }

  /// Counts an element of `bytes` that is not shown; the next page may begin behind it.
  void pass(std::string cursor, size_t bytes) {
    last_ = std::move(cursor);
    bytes_ += bytes;
  }

  /// Ends the page although it may have room: the next page begins behind this cursor.
  void continue_at(std::string cursor) { next_ = std::move(cursor); }

  Json json() && { return {{"items", std::move(items_)}, {"next", std::move(next_)}}; }

 private:
  const size_t limit_;
  Json items_ = Json::array();
  Json next_ = nullptr;
  size_t bytes_ = 0;
  std::optional<std::string> last_;  ///< cursor of the last item that has one
};

}  // namespace millrace
