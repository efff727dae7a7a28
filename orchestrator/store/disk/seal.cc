#include "orchestrator/store/disk/seal.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include "base/check.h"
#include "os/descriptor.h"
#include "os/write_file.h"

namespace millrace {
namespace {

constexpr size_t kKeySize = crypto_secretbox_KEYBYTES;
constexpr size_t kNonceSize = crypto_secretbox_NONCEBYTES;
constexpr size_t kTagSize = crypto_secretbox_MACBYTES;

static_assert(kKeySize == crypto_kdf_KEYBYTES && kKeySize == 32);

using Nonce = std::array<unsigned char, kNonceSize>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// What the nonce of a row is made from besides the row's content: its place, and its mark. The
/// mark kHidden is left out, because earlier releases had no other mark.
std::string marked(std::string_view context, Seal::Mark mark) {
  std::string all(context);
  if (mark == Seal::Mark::kMasked) all += static_cast<char>(mark);
  return all;
}

tl::unexpected<Error> file_error(const std::filesystem::path& file, const char* what) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  return fail(is_full ? "store.full" : "store.io",
              fmt::format("{} {}: {}", what, file.string(), std::strerror(errno)));
}

}  // namespace

struct Seal::Keys {
  unsigned char master[kKeySize];
  unsigned char box[kKeySize];       ///< the key that encrypts rows
  unsigned char nonce[kKeySize];     ///< the key of the hash that makes nonces
  unsigned char ids[kKeySize];       ///< the key for the ids of tasks and subflows
  unsigned char messages[kKeySize];  ///< the key for the ids of messages
  unsigned char log[kKeySize];       ///< the key for the chain of the log of a cluster

  void derive() {
    constexpr char kPurpose[crypto_kdf_CONTEXTBYTES + 1] = "millrace";
    crypto_kdf_derive_from_key(box, sizeof box, 1, kPurpose, master);
    crypto_kdf_derive_from_key(nonce, sizeof nonce, 2, kPurpose, master);
    crypto_kdf_derive_from_key(ids, sizeof ids, 3, kPurpose, master);
    crypto_kdf_derive_from_key(messages, sizeof messages, 4, kPurpose, master);
    crypto_kdf_derive_from_key(log, sizeof log, 5, kPurpose, master);
  }

  Nonce nonce_of(std::string_view bytes, std::string_view context) const {
    crypto_generichash_state hash;
    Nonce made;
    const uint64_t size = context.size();
    crypto_generichash_init(&hash, nonce, sizeof nonce, made.size());
    crypto_generichash_update(&hash, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(&hash, bytes_of(context), context.size());
    crypto_generichash_update(&hash, bytes_of(bytes), bytes.size());
    crypto_generichash_final(&hash, made.data(), made.size());
    return made;
  }
};

void Seal::Free::operator()(Keys* keys) const { sodium_free(keys); }

Seal::KeysHandle Seal::make_keys() {
  CHECK(sodium_init() >= 0, "libsodium cannot be initialised");
  KeysHandle keys(static_cast<Keys*>(sodium_malloc(sizeof(Keys))));
  CHECK(keys != nullptr, "no memory for a key");
  return keys;
}

Seal Seal::make() {
  KeysHandle keys = make_keys();
  randombytes_buf(keys->master, sizeof keys->master);
  keys->derive();
  return Seal(std::move(keys));
}

Result<Seal> Seal::read(const std::filesystem::path& file) {
  // os/read_file.h is not used: its strings would leave copies of the key in memory.
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  char text[2 * kKeySize + 3];  // for two bytes of a line end, and one that shows a longer file
  const ssize_t size = !opened ? -1 : ::read(opened.fd(), text, sizeof text);
  if (size < 0) {
    return fail("store.key", fmt::format("the secret key {} cannot be read: {}", file.string(),
                                         std::strerror(errno)));
  }
  KeysHandle keys = make_keys();
  size_t length = static_cast<size_t>(size);
  bool is_key = length == kKeySize;
  if (is_key) {
    std::memcpy(keys->master, text, kKeySize);
  } else {
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) --length;
    size_t made = 0;
    is_key = length == 2 * kKeySize &&
             sodium_hex2bin(keys->master, kKeySize, text, length, nullptr, &made, nullptr) == 0 &&
             made == kKeySize;
  }
  sodium_memzero(text, sizeof text);
  if (!is_key) {
    return fail("store.key",
                fmt::format("{} is not a secret key: expected 32 bytes, or 64 hexadecimal digits "
                            "(`openssl rand -hex 32` generates them)",
                            file.string()));
  }
  keys->derive();
  return Seal(std::move(keys));
}

Status Seal::write(const std::filesystem::path& file) const {
  std::array<char, 2 * kKeySize + 1> line;
  sodium_bin2hex(line.data(), line.size(), keys_->master, kKeySize);
  line.back() = '\n';
  const int failed = replace_file(file, {line.data(), line.size()});
  sodium_memzero(line.data(), line.size());
  errno = failed;
  if (failed != 0) return file_error(file, "writing");
  return {};
}

std::string Seal::id_key() const {
  return {reinterpret_cast<const char*>(keys_->ids), sizeof keys_->ids};
}

std::string_view Seal::message_key() const {
  return {reinterpret_cast<const char*>(keys_->messages), sizeof keys_->messages};
}

std::string_view Seal::log_key() const {
  return {reinterpret_cast<const char*>(keys_->log), sizeof keys_->log};
}

size_t Seal::plain_size(std::string_view bytes) {
  constexpr size_t kAdded = 1 + kNonceSize + kTagSize;
  return is_sealed(bytes) && bytes.size() >= kAdded ? bytes.size() - kAdded : bytes.size();
}

std::string Seal::seal(std::string_view bytes, std::string_view context, Mark mark) const {
  const Nonce nonce = keys_->nonce_of(bytes, marked(context, mark));
  std::string sealed(1 + kNonceSize + kTagSize + bytes.size(), static_cast<char>(mark));
  auto* const out = reinterpret_cast<unsigned char*>(sealed.data()) + 1;
  std::memcpy(out, nonce.data(), nonce.size());
  crypto_secretbox_easy(out + kNonceSize, bytes_of(bytes), bytes.size(), nonce.data(), keys_->box);
  return sealed;
}

std::optional<std::string> Seal::open(std::string_view sealed, std::string_view context) const {
  if (!is_sealed(sealed) || sealed.size() < 1 + kNonceSize + kTagSize) return std::nullopt;
  const unsigned char* const nonce = bytes_of(sealed) + 1;
  const std::string_view box = sealed.substr(1 + kNonceSize);
  std::string bytes(box.size() - kTagSize, '\0');
  if (crypto_secretbox_open_easy(reinterpret_cast<unsigned char*>(bytes.data()), bytes_of(box),
                                 box.size(), nonce, keys_->box) != 0) {
    return std::nullopt;
  }
  const Nonce own = keys_->nonce_of(bytes, marked(context, static_cast<Mark>(sealed.front())));
  if (sodium_memcmp(own.data(), nonce, own.size()) != 0) return std::nullopt;
  return bytes;
}

}  // namespace millrace
