// Functions on raw bytes: Base64 (RFC 4648, section 4), hexadecimal digits, 128-bit fingerprints,
// tests for ASCII and UTF-8.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

/// Base64 in the standard alphabet, padded.
std::string base64_encode(std::string_view bytes);

/// Decodes Base64 in the standard alphabet with its padding; nullopt for any other text.
std::optional<std::string> base64_decode(std::string_view text);

/// Two lower-case hexadecimal digits for each byte.
std::string to_hex(std::span<const uint8_t> bytes);
std::string to_hex(std::string_view bytes);

/// Reads what to_hex() writes. Returns false, and `bytes` has no meaning, for any other text, also
/// one of another length.
bool read_hex(std::string_view text, std::span<uint8_t> bytes);

using Fingerprint = std::array<uint8_t, 16>;

/// 128-bit BLAKE2b of the parts, each preceded by its length, so that ("ab","c") and ("a","bc")
/// differ.
Fingerprint fingerprint(std::initializer_list<std::string_view> parts);

/// Keyed BLAKE2b of the parts, so that only a holder of `key` (at most 64 bytes) can compute it. An
/// empty key gives the result of fingerprint().
Fingerprint keyed_fingerprint(std::string_view key, std::initializer_list<std::string_view> parts);

/// Whether every byte is in the range ` ` to `~`.
bool is_printable_ascii(std::string_view bytes);

/// Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms, ≤ U+10FFFF).
bool is_utf8(std::string_view bytes);

}  // namespace millrace
