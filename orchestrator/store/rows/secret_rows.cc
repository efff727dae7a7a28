#include "orchestrator/store/rows/secret_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

constexpr std::string_view kFormer = "~";
/// The name of the row which says that former values are missing; it has no value.
constexpr std::string_view kMissing = "~missing";

std::string key_of(NamespaceNumber ns, std::string_view name) {
  return rows::ns_prefix(ns).append(name);
}

Result<std::string> decode_text(std::string_view bytes) { return std::string(bytes); }

/// Visits the values of the rows of a namespace whose names begin with `names`, until `see` returns
/// false.
Status each_value(const View& view, NamespaceNumber ns, std::string_view names,
                  const std::function<bool(std::string_view name, std::string value)>& see) {
  const std::string prefix = rows::ns_prefix(ns);
  return rows::walk(view, Table::kSecrets, key_of(ns, names), {},
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      std::string opened =
                          TRY(rows::decode(view, Table::kSecrets, key, value, decode_text));
                      return see(key.substr(prefix.size()), std::move(opened));
                    });
}

}  // namespace

Result<std::optional<std::string>> read_secret(const View& view, NamespaceNumber ns,
                                               std::string_view name) {
  return rows::read_text(view, Table::kSecrets, key_of(ns, name));
}

bool has_secret(const View& view, NamespaceNumber ns, std::string_view name) {
  return view.get(Table::kSecrets, key_of(ns, name)).has_value();
}

void write_secret(Transaction& tx, NamespaceNumber ns, std::string_view name,
                  std::string_view value) {
  rows::put(tx, Table::kSecrets, key_of(ns, name), std::string(value), true);
}

void erase_secret(Transaction& tx, NamespaceNumber ns, std::string_view name) {
  tx.erase(Table::kSecrets, key_of(ns, name));
}

Status each_secret(const View& view, NamespaceNumber ns, std::string_view after,
                   const std::function<bool(std::string_view name)>& see) {
  const std::string prefix = rows::ns_prefix(ns);
  std::string from;
  if (!after.empty()) from = prefix + std::string(after) + '\0';
  return rows::walk(view, Table::kSecrets, prefix, from,
                    [&](std::string_view key, auto) -> Result<bool> {
                      const std::string_view name = key.substr(prefix.size());
                      return !is_former_name(name) && see(name);
                    });
}

bool is_former_name(std::string_view name) { return name.starts_with(kFormer); }

std::optional<uint32_t> number_of_former(std::string_view name) {
  constexpr size_t kDigits = 4;
  if (!is_former_name(name) || name.size() != kFormer.size() + kDigits) return std::nullopt;
  name.remove_prefix(kFormer.size());
  uint32_t number = 0;
  for (const char digit : name) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = 10 * number + static_cast<uint32_t>(digit - '0');
  }
  return number < kMostFormerValues ? std::optional(number) : std::nullopt;
}

bool notes_missing_values(std::string_view name) { return name == kMissing; }

Status keep_former_value(Transaction& tx, NamespaceNumber ns, std::string_view value) {
  size_t count = 0;
  size_t bytes = value.size();
  bool is_known = false;
  TRY(each_value(tx, ns, kFormer, [&](std::string_view name, const std::string& known) {
    count += name == kMissing ? 0 : 1;
    bytes += known.size();
    is_known = known == value && name != kMissing;
    return !is_known;
  }));
  if (is_known) return {};
  if (count >= kMostFormerValues || bytes > kMostFormerBytes) {
    note_missing_value(tx, ns);
  } else {
    // The rows are erased only together with the namespace, so this number is free.
    write_secret(tx, ns, fmt::format("{}{:04}", kFormer, count), value);
  }
  return {};
}

void note_missing_value(Transaction& tx, NamespaceNumber ns) { write_secret(tx, ns, kMissing, ""); }

Result<SecretValues> read_secret_values(const View& view, NamespaceNumber ns) {
  SecretValues all;
  size_t bytes = 0;
  TRY(each_value(view, ns, "", [&](std::string_view name, std::string value) {
    bytes += value.size();
    all.is_complete =
        name != kMissing && bytes <= kMostSecretValueBytes && all.values.size() < kMostSecretValues;
    if (all.is_complete) all.values.push_back(std::move(value));
    return all.is_complete;
  }));
  return all;
}

}  // namespace millrace
