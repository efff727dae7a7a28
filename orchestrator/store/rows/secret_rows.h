// Secret rows: always sealed; the secrets of one namespace are adjacent, and after them its former
// values: values that secrets had, which instances may still have. Table `secrets`. Functions that
// read take any View, functions that write the Transaction. A damaged row gives an error that names
// it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

Result<std::optional<std::string>> read_secret(const View& view, NamespaceNumber ns,
                                               std::string_view name);
/// Whether the secret exists. Does not open its row.
bool has_secret(const View& view, NamespaceNumber ns, std::string_view name);
void write_secret(Transaction& tx, NamespaceNumber ns, std::string_view name,
                  std::string_view value);
void erase_secret(Transaction& tx, NamespaceNumber ns, std::string_view name);

/// Visits the names after `after` (empty: all), in order, until `see` returns false.
Status each_secret(const View& view, NamespaceNumber ns, std::string_view after,
                   const std::function<bool(std::string_view name)>& see);

// Former values. The names of their rows begin with `~`, which no name of a secret does.

/// The most former values of one namespace, and their bytes in all.
inline constexpr size_t kMostFormerValues = 256;
inline constexpr size_t kMostFormerBytes = size_t{256} << 10;

/// Whether the part of a key behind the namespace names a former value, or begins like such a name.
bool is_former_name(std::string_view name);
/// The number of a former value, from 0 to kMostFormerValues - 1, by its name; nullopt: the name is
/// another one.
std::optional<uint32_t> number_of_former(std::string_view name);
/// Whether it is the name of the row which says that former values are missing; the row has no
/// value.
bool notes_missing_values(std::string_view name);

/// Keeps a value that a secret of the namespace has no longer. If the namespace has the most former
/// values already, only a row is written which says that former values are missing.
Status keep_former_value(Transaction& tx, NamespaceNumber ns, std::string_view value);
/// Writes the row which says that former values of the namespace are missing.
void note_missing_value(Transaction& tx, NamespaceNumber ns);

/// The most values that read_secret_values() returns, and their bytes in all.
inline constexpr size_t kMostSecretValues = 1'000;
inline constexpr size_t kMostSecretValueBytes = size_t{1} << 20;

/// All values that the secrets of a namespace have or had.
struct SecretValues {
  std::vector<std::string> values;
  bool is_complete = true;  ///< false: there are or were more values
};
Result<SecretValues> read_secret_values(const View& view, NamespaceNumber ns);

}  // namespace millrace
