#include "broker/nkey.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <sodium.h>

namespace millrace {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr uint8_t kSeedPrefix = 18 << 3;  // "S"
constexpr uint8_t kUserPrefix = 20 << 3;  // "U"
constexpr size_t kSeedBytes = 2 + crypto_sign_SEEDBYTES + 2;

std::optional<std::vector<uint8_t>> base32_decode(std::string_view text) {
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 5 | static_cast<uint32_t>(value);
    count += 5;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<uint8_t>(bits >> count));
    }
  }
  return bytes;
}

std::string base32_encode(const std::vector<uint8_t>& bytes) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    count += 8;
    while (count >= 5) {
      count -= 5;
      text.push_back(kAlphabet[bits >> count & 31]);
    }
  }
  if (count > 0) text.push_back(kAlphabet[bits << (5 - count) & 31]);
  return text;
}

/// CRC-16/XMODEM. An nkey ends with this checksum, low byte first.
uint16_t checksum(const uint8_t* bytes, size_t size) {
  uint16_t crc = 0;
  for (size_t i = 0; i < size; ++i) {
    crc = static_cast<uint16_t>(crc ^ bytes[i] << 8);
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<uint16_t>((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1);
    }
  }
  return crc;
}

}  // namespace

Result<std::string> public_nkey(std::string_view seed) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto malformed = [] {
    return fail("broker.nkey",
                "the nkey seed is not valid; expected the seed of a user: `SU` and 56 more "
                "letters and digits");
  };
  const size_t begin = seed.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return malformed();
  seed = seed.substr(begin, seed.find_last_not_of(kBlank) - begin + 1);

  std::optional<std::vector<uint8_t>> raw = base32_decode(seed);
  if (!raw || raw->size() != kSeedBytes) return malformed();
  const std::vector<uint8_t>& bytes = *raw;
  const uint16_t expected = checksum(bytes.data(), kSeedBytes - 2);
  const uint8_t kind = static_cast<uint8_t>((bytes[0] & 7) << 5 | bytes[1] >> 3);
  if ((bytes[0] & 0xf8) != kSeedPrefix || kind != kUserPrefix ||
      bytes[kSeedBytes - 2] != (expected & 0xff) || bytes[kSeedBytes - 1] != expected >> 8) {
    return malformed();
  }

  std::array<uint8_t, crypto_sign_PUBLICKEYBYTES> public_key;
  std::array<uint8_t, crypto_sign_SECRETKEYBYTES> secret_key;
  crypto_sign_seed_keypair(public_key.data(), secret_key.data(), bytes.data() + 2);
  sodium_memzero(secret_key.data(), secret_key.size());
  sodium_memzero(raw->data(), raw->size());

  std::vector<uint8_t> out = {kUserPrefix};
  out.insert(out.end(), public_key.begin(), public_key.end());
  const uint16_t crc = checksum(out.data(), out.size());
  out.push_back(static_cast<uint8_t>(crc & 0xff));
  out.push_back(static_cast<uint8_t>(crc >> 8));
  return base32_encode(out);
}

}  // namespace millrace
