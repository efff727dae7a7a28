#include "orchestrator/signatures/hmac.h"

#include <sodium.h>

#include "base/bytes.h"

namespace millrace {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(key), key.size());
  for (const std::string_view part : parts) {
    crypto_auth_hmacsha256_update(&state, bytes_of(part), part.size());
  }
  std::string made(crypto_auth_hmacsha256_BYTES, '\0');
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(made.data()));
  return made;
}

std::string hmac_sha512(std::string_view key, std::initializer_list<std::string_view> parts) {
  crypto_auth_hmacsha512_state state;
  crypto_auth_hmacsha512_init(&state, bytes_of(key), key.size());
  for (const std::string_view part : parts) {
    crypto_auth_hmacsha512_update(&state, bytes_of(part), part.size());
  }
  std::string made(crypto_auth_hmacsha512_BYTES, '\0');
  crypto_auth_hmacsha512_final(&state, reinterpret_cast<unsigned char*>(made.data()));
  return made;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // Hashes have one length, so the comparison does not show where the texts differ.
  const Fingerprint of_a = fingerprint({a});
  const Fingerprint of_b = fingerprint({b});
  return sodium_memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
}

}  // namespace millrace
