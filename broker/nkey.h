// The public half of an nkey (Ed25519, Base32 with a prefix and a checksum). nats.c requires the
// public key, although the seed determines it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// Returns the public key (`UDXU4RCS…`) of the seed of a user (`SUACSSL3…`). White space around the
/// seed is ignored. The message of error `broker.nkey` does not repeat the seed.
Result<std::string> public_nkey(std::string_view seed);

}  // namespace millrace
