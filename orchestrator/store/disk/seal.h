// Seal: what of the store only the holder of a key may read. A row that holds a secret, or data
// that was made with one, is sealed whole (libsodium secretbox); its nonce is a keyed hash of what
// it holds and of its place, so that the same batch leaves the same bytes, and so that a row which
// was moved elsewhere does not open. Immutable; any thread.
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
  /// With a new random key, which is in no file yet.
  static Seal make();

  /// With the key in that file: 32 bytes, or 64 hexadecimal digits. Errors: `store.key`.
  static Result<Seal> read(const std::filesystem::path& file);

  /// Writes the key into that file, which only its owner may read, and syncs it and its folder.
  /// Errors: `store.io`, `store.full`.
  Status write(const std::filesystem::path& file) const;

  /// `context` is the row's place.
  std::string seal(std::string_view bytes, std::string_view context) const;

  /// nullopt: it was sealed with another key, for another place, or is damaged.
  std::optional<std::string> open(std::string_view sealed, std::string_view context) const;

  /// A key for ids that only the holder of this key may be able to compute; 32 bytes.
  std::string id_key() const;

  /// Whether a row's bytes are sealed. No record, no JSON text and no number begins so.
  static bool is_sealed(std::string_view bytes) { return !bytes.empty() && bytes.front() == kMark; }

 private:
  static constexpr char kMark = '\xff';

  struct Keys;
  struct Free {
    void operator()(Keys* keys) const;
  };
  using KeysHandle = std::unique_ptr<Keys, Free>;

  explicit Seal(KeysHandle keys) : keys_(std::move(keys)) {}
  static KeysHandle make_keys();

  KeysHandle keys_;  ///< in memory that is not swapped, and wiped when it is freed
};

}  // namespace millrace
