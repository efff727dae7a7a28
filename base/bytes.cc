#include "base/bytes.h"

#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "base/characters.h"
#include "base/check.h"

namespace millrace {

std::string base64_encode(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the terminating NUL that libsodium counts
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  size_t size = 0;
  const char* end = nullptr;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, &end, sodium_base64_VARIANT_ORIGINAL) != 0 ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  bytes.resize(size);
  return bytes;
}

std::string to_hex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0x0f]);
  }
  return text;
}

std::string to_hex(std::string_view bytes) {
  return to_hex(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

bool read_hex(std::string_view text, std::span<uint8_t> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
  }
  return to_hex(bytes) == text;  // not with a digit in upper case, or with another character
}

Fingerprint fingerprint(std::initializer_list<std::string_view> parts) {
  return keyed_fingerprint("", parts);
}

Fingerprint keyed_fingerprint(std::string_view key, std::initializer_list<std::string_view> parts) {
  crypto_generichash_state state;
  Fingerprint out;
  CHECK(crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key.data()),
                                key.size(), out.size()) == 0,
        "the key has {} bytes; expected at most 64", key.size());
  for (const std::string_view part : parts) {
    const uint64_t size = part.size();
    std::array<unsigned char, 8> prefix;
    for (size_t i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(size >> (8 * i));
    crypto_generichash_update(&state, prefix.data(), prefix.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
  }
  CHECK(crypto_generichash_final(&state, out.data(), out.size()) == 0);
  return out;
}

bool is_printable_ascii(std::string_view bytes) {
  // Tests eight bytes at a time; a byte that is not printable sets its highest bit in `found`.
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighest = kOnes * 0x80;
  uint64_t found = 0;
  const auto look_at = [&](uint64_t word) {
    const uint64_t below_128 = word & ~kHighest;
    const uint64_t from_space = below_128 + kOnes * (0x80 - ' ');
    const uint64_t from_delete = below_128 + kOnes;
    found |= (word | ~from_space | from_delete) & kHighest;
  };
  const auto word_at = [&](size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return word;
  };
  if (bytes.size() < 8) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
  }
  for (size_t at = 0; at + 8 < bytes.size(); at += 8) look_at(word_at(at));
  look_at(word_at(bytes.size() - 8));
  return found == 0;
}

bool is_utf8(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = at + bytes.size();
  const auto continues = [&](const unsigned char* byte) {
    return byte < end && (*byte & 0xc0) == 0x80;
  };
  while (at < end) {
    const unsigned char lead = *at;
    if (end - at >= 8) {
      uint64_t word = 0;
      std::memcpy(&word, at, sizeof word);
      if ((word & 0x8080808080808080) == 0) {  // eight bytes of ASCII
        at += 8;
        continue;
      }
    }
    if (lead < 0x80) {
      ++at;
    } else if (lead >= 0xc2 && lead <= 0xdf) {
      if (!continues(at + 1)) return false;
      at += 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      if (!continues(at + 1) || !continues(at + 2)) return false;
      if (lead == 0xe0 && at[1] < 0xa0) return false;  // overlong
      if (lead == 0xed && at[1] > 0x9f) return false;  // surrogate
      at += 3;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      if (!continues(at + 1) || !continues(at + 2) || !continues(at + 3)) return false;
      if (lead == 0xf0 && at[1] < 0x90) return false;  // overlong
      if (lead == 0xf4 && at[1] > 0x8f) return false;  // past U+10FFFF
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace millrace
