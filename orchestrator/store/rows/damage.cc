#include "orchestrator/store/rows/damage.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/codec.h"
#include "base/ids.h"

namespace millrace {
namespace {

/// The bytes as they are if they are printable ASCII, else in hexadecimal.
std::string plain(std::string_view bytes) {
  const bool is_text =
      std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  if (is_text) return std::string(bytes);
  std::string out = "0x";
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

/// Part::kCompensation.
constexpr uint8_t kCompensationPart = 8;

std::string instance_part(std::string_view key) {
  static constexpr std::array<const char*, kCompensationPart + 1> kParts{
      "head", "input",       "data",           "slots",       "found data",
      "call", "failed data", "starting event", "compensation"};
  Reader reader(key);
  const uint32_t ns = reader.u32();
  const InstanceId id{reader.id()};
  const uint8_t part = reader.u8();
  if (!reader.ok() || part >= kParts.size()) return plain(key);
  std::string text = fmt::format("namespace {} instance {} {}", ns, to_string(id), kParts[part]);
  if (reader.done()) return text;
  text += fmt::format(" {}", reader.u32());  // the index of a call, the number of a compensation
  return reader.done() ? text : plain(key);
}

std::string readable(Table table, std::string_view key) {
  Reader reader(key);
  switch (table) {
    case Table::kLive:
    case Table::kEnded:
      return instance_part(key);
    case Table::kHistory:
    case Table::kOutbox:
    case Table::kSent:
    case Table::kDelayed:
    case Table::kInbox:
    case Table::kWebhooks:
    case Table::kFanout: {
      const uint64_t number = reader.u64();
      return reader.done() ? std::to_string(number) : plain(key);
    }
    case Table::kTasks: {
      const InstanceId id{reader.id()};
      return reader.done() ? to_string(id) : plain(key);
    }
    case Table::kDefinitions: {
      const uint32_t workflow = reader.u32();
      const uint32_t revision = reader.u32();
      if (!reader.done()) return plain(key);
      return fmt::format("workflow {} revision {}", workflow, revision);
    }
    case Table::kSchedules: {
      const uint32_t workflow = reader.u32();
      return reader.done() ? fmt::format("workflow {}", workflow) : plain(key);
    }
    case Table::kWorkflows:
    case Table::kSecrets: {
      const uint32_t ns = reader.u32();
      if (!reader.ok()) return plain(key);
      return fmt::format("namespace {} {}", ns, plain(reader.rest()));
    }
    default:
      return plain(key);
  }
}

}  // namespace

Error damaged_row(Table table, std::string_view key, std::string_view what) {
  std::string message = fmt::format(
      "row {} of table {} is damaged: {}; `millrace verify` lists all damaged rows and what to do",
      readable(table, key), table_name(table), what);
  Reader reader(key);
  reader.u32();
  const InstanceId id{reader.id()};
  const bool has_id = reader.ok();
  const bool is_of_instance = (table == Table::kLive || table == Table::kEnded) && has_id;
  if (is_of_instance && reader.u8() == kCompensationPart) {
    message += fmt::format(
        "; its instance is as usable as without it, and when it has ended, `millrace instance "
        "compensate {} --past` passes over the compensation",
        to_string(id));
  } else if (table == Table::kLive && has_id) {
    message += fmt::format("; `millrace instance delete {} --damaged` removes the instance",
                           to_string(id));
  }
  return {std::string(kDamagedRow), std::move(message)};
}

}  // namespace millrace
