// The public half of an nkey (Ed25519, Base32 with a prefix and a checksum), which nats.c wants to
// be told although the seed holds it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// `UDXU4RCS…` of the seed of a user, `SUACSSL3…`; white space around the seed is skipped. Error
/// `broker.nkey` does not repeat the seed.
Result<std::string> public_nkey(std::string_view seed);

}  // namespace millrace
