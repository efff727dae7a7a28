// Seal: encrypts rows of the store. A row that holds a secret, or data that was computed from one,
// is encrypted as a whole (libsodium secretbox). The nonce is a keyed hash of the row's content and
// place. So the same batch writes the same bytes, and a row that was moved to another place cannot
// be decrypted. Immutable; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

class Seal {
 public:
  /// A seal with a new random key that is not in a file yet.
  static Seal make();

  /// A seal with the key in that file: 32 bytes, or 64 hexadecimal digits. Errors: `store.key`.
  static Result<Seal> read(const std::filesystem::path& file);

  /// Writes the key to that file (mode 0600), and syncs the file and its folder.
  /// Errors: `store.io`, `store.full`.
  Status write(const std::filesystem::path& file) const;

  /// The first byte of a sealed row: whether the API masks the values of secrets in the data of the
  /// row, or hides the data.
  // On disk: never change.
  enum class Mark : char { kMasked = '\xfe', kHidden = '\xff' };

  /// Encrypts a row. `context` is the row's place: open() needs the same context. The mark cannot
  /// be changed in a sealed row either.
  std::string seal(std::string_view bytes, std::string_view context,
                   Mark mark = Mark::kHidden) const;

  /// Decrypts a row. nullopt: it was sealed with another key or for another place, or is damaged.
  std::optional<std::string> open(std::string_view sealed, std::string_view context) const;

  /// A key of 32 bytes, derived from the key of the seal, for ids that cannot be computed without
  /// that key.
  std::string id_key() const;

  /// A key of 32 bytes, derived from the key of the seal, for the ids of messages (Nats-Msg-Id).
  /// The bytes live as long as the seal.
  std::string_view message_key() const;

  /// A key of 32 bytes, derived from the key of the seal, for the chain of the log of a cluster
  /// (log_chain). The bytes live as long as the seal.
  std::string_view log_key() const;

  /// Whether a row's bytes are sealed: sealed bytes begin with a Mark; records, JSON texts and
  /// numbers never do.
  static bool is_sealed(std::string_view bytes) {
    return is_masked(bytes) || has_mark(bytes, Mark::kHidden);
  }
  /// Whether a row's bytes are sealed with Mark::kMasked.
  static bool is_masked(std::string_view bytes) { return has_mark(bytes, Mark::kMasked); }

  /// The size in bytes of the plain value of a row, which may be sealed.
  static size_t plain_size(std::string_view bytes);

 private:
  static bool has_mark(std::string_view bytes, Mark mark) {
    return !bytes.empty() && bytes.front() == static_cast<char>(mark);
  }

  struct Keys;
  struct Free {
    void operator()(Keys* keys) const;
  };
  using KeysHandle = std::unique_ptr<Keys, Free>;

  explicit Seal(KeysHandle keys) : keys_(std::move(keys)) {}
  static KeysHandle make_keys();

  KeysHandle keys_;  ///< in memory that is never swapped and is wiped when it is freed
};

}  // namespace millrace
