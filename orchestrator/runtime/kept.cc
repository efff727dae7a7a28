#include "orchestrator/runtime/kept.h"

#include <utility>

namespace millrace {

Status Kept::load(const View& view) {
  rows_.clear();
  batch_.clear();
  bytes_ = 0;
  return each_sent(view, [&](uint64_t number, SentRecord record) {
    for (const Message& message : record.messages) bytes_ += message.bytes;
    rows_.push_back({number, std::move(record)});
  });
}

void Kept::write(Transaction& tx, int64_t stream_created, TimePoint now) {
  if (batch_.empty()) return;
  for (const Message& message : batch_) bytes_ += message.bytes;
  const uint64_t number = rows_.empty() ? 1 : rows_.back().number + 1;
  rows_.push_back({number, {stream_created, now, std::exchange(batch_, {})}});
  write_sent(tx, number, rows_.back().record);
}

void Kept::trim(Transaction& tx, TimePoint now) {
  size_t erased = 0;
  const auto is_over = [&] {
    return bytes_ > limits_.bytes || rows_.front().record.at + limits_.time <= now;
  };
  while (erased < kErasedAtOnce && !rows_.empty() && is_over()) erased += erase_oldest(tx);
}

void Kept::drop(Transaction& tx) {
  size_t erased = 0;
  while (erased < kErasedWhenFull && !rows_.empty()) erased += erase_oldest(tx);
}

size_t Kept::erase_oldest(Transaction& tx) {
  const Row row = std::move(rows_.front());
  rows_.pop_front();
  for (const Message& message : row.record.messages) {
    erase_outbox(tx, message.number);
    bytes_ -= message.bytes;
  }
  erase_sent(tx, row.number);
  return row.record.messages.size();
}

std::vector<Kept::Message> Kept::take_behind(Transaction& tx, int64_t stream_created,
                                             uint64_t sequence) {
  std::vector<Message> taken;
  for (Row& row : rows_) {
    if (row.record.stream_created != stream_created) continue;
    const size_t before = taken.size();
    std::erase_if(row.record.messages, [&](const Message& message) {
      if (message.sequence <= sequence) return false;
      bytes_ -= message.bytes;
      taken.push_back(message);
      return true;
    });
    if (taken.size() == before) continue;
    if (row.record.messages.empty()) {
      erase_sent(tx, row.number);
    } else {
      write_sent(tx, row.number, row.record);
    }
  }
  std::erase_if(rows_, [](const Row& row) { return row.record.messages.empty(); });
  return taken;
}

std::vector<uint64_t> Kept::numbers_from(uint64_t number) const {
  std::vector<uint64_t> numbers;
  for (const Row& row : rows_) {
    for (const Message& message : row.record.messages) {
      if (message.number >= number) numbers.push_back(message.number);
    }
  }
  return numbers;
}

}  // namespace millrace
