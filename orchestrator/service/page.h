// Page: a list in the form in which queries return it, {"items":[…],"next"}: at most the requested
// number of items, and the cursor of the next page, null on the last page. Any thread, one at a
// time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"

namespace millrace {

class Page {
 public:
  /// `limit`: the number of items, at least 1.
  explicit Page(size_t limit) : limit_(limit) {}

  /// Whether another item may be added. If there is no room, another page follows this page.
  bool has_room() {
    if (items_.size() < limit_ || !last_) return true;
    next_ = *last_;
    return false;
  }

  /// Adds an item; `cursor` is where the next page begins if this item is the last of its page; an
  /// item without a cursor is never the last of a page.
  void add(Json item, std::optional<std::string> cursor = std::nullopt) {
    items_.push_back(std::move(item));
    if (cursor) last_ = std::move(cursor);
  }

  Json json() && { return {{"items", std::move(items_)}, {"next", std::move(next_)}}; }

 private:
  const size_t limit_;
  Json items_ = Json::array();
  Json next_ = nullptr;
  std::optional<std::string> last_;  ///< cursor of the last item that has one
};

}  // namespace millrace
