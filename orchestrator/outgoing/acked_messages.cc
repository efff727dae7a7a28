#include "orchestrator/outgoing/acked_messages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace millrace {

Status AckedMessages::load(const View& view, const OnDamage& damaged) {
  // `openings` is not in the rows, so it is kept over the load.
  std::map<uint64_t, uint64_t> openings;
  for (const Row& row : rows_) openings.emplace(row.number, row.openings);
  rows_.clear();
  batch_.clear();
  bytes_ = 0;
  return each_sent(
      view,
      [&](uint64_t number, SentRecord record) {
        for (const Message& message : record.messages) bytes_ += message.bytes;
        const auto known = openings.find(number);
        rows_.push_back({number, std::move(record), known == openings.end() ? 0 : known->second});
        last_number_ = std::max(last_number_, number);
      },
      damaged);
}

void AckedMessages::write(Transaction& tx, int64_t stream_created, TimePoint now) {
  const auto batch = std::exchange(batch_, {});
  for (const auto& [openings, messages] : batch) {
    for (const Message& message : messages) bytes_ += message.bytes;
    for (size_t from = 0; from < messages.size(); from += kMostInRow) {
      const auto begin = messages.begin() + static_cast<std::ptrdiff_t>(from);
      const size_t count = std::min(kMostInRow, messages.size() - from);
      std::vector<Message> some(begin, begin + static_cast<std::ptrdiff_t>(count));
      rows_.push_back({++last_number_, {stream_created, now, std::move(some)}, openings});
      write_sent(tx, last_number_, rows_.back().record);
    }
  }
}

void AckedMessages::trim(Transaction& tx, TimePoint now) {
  size_t erased = 0;
  const auto is_over = [&] {
    return bytes_ > limits_.bytes || rows_.front().record.at + limits_.time <= now;
  };
  while (erased < kErasedAtOnce && !rows_.empty() && is_over()) erased += erase_oldest(tx);
}

void AckedMessages::drop(Transaction& tx) {
  size_t erased = 0;
  while (erased < kErasedWhenFull && !rows_.empty()) erased += erase_oldest(tx);
}

size_t AckedMessages::erase_oldest(Transaction& tx) {
  const Row row = std::move(rows_.front());
  rows_.pop_front();
  for (const Message& message : row.record.messages) {
    erase_outbox(tx, message.number);
    bytes_ -= message.bytes;
  }
  erase_sent(tx, row.number);
  return row.record.messages.size();
}

std::vector<AckedMessages::Message> AckedMessages::take_behind(Transaction& tx,
                                                               int64_t stream_created,
                                                               uint64_t sequence,
                                                               uint64_t openings) {
  std::vector<Message> taken;
  for (Row& row : rows_) {
    if (row.record.stream_created != stream_created || row.openings >= openings) continue;
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

std::vector<uint64_t> AckedMessages::numbers_from(uint64_t number) const {
  std::vector<uint64_t> numbers;
  for (const Row& row : rows_) {
    for (const Message& message : row.record.messages) {
      if (message.number >= number) numbers.push_back(message.number);
    }
  }
  return numbers;
}

}  // namespace millrace
