// HMAC (RFC 2104) by libsodium. Pure; for any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace millrace {

/// The 32 bytes of HMAC-SHA-256 of the parts, one behind the other. The key may have any length.
std::string hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts);

/// The 64 bytes of HMAC-SHA-512, as above.
std::string hmac_sha512(std::string_view key, std::initializer_list<std::string_view> parts);

/// Whether the texts are equal. The time that it takes depends on their lengths only.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace millrace
