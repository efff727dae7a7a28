// What a server has where its settings say nothing else. The command line, its help texts and the
// parts that the settings are of take it from here, so each number stands once.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace millrace::defaults {

inline constexpr uint16_t kHttpPort = 8780;  ///< of the gateway, on loopback
inline constexpr uint16_t kNatsPort = 4222;  ///< where a NATS server listens

/// Bound on evaluating one state.
inline constexpr Duration kTaskTimeout = std::chrono::seconds(10);

/// How long an event is recognised as a duplicate, in the broker's time, and how many events are.
inline constexpr Duration kDedupeWindow = std::chrono::minutes(10);
inline constexpr uint64_t kDedupeEvents = 4'000'000;

/// Bytes that the store may hold before new work is refused.
inline constexpr uint64_t kStoreLimit = uint64_t{1} << 40;

/// Bytes that are held in memory and in the journal before they go into LMDB.
inline constexpr uint64_t kCheckpointBytes = uint64_t{16} << 20;

/// Where the gateway listens: host and port.
inline std::string listen_address() { return "127.0.0.1:" + std::to_string(kHttpPort); }

/// Where clients find the gateway.
inline std::string server_url() { return "http://" + listen_address(); }

/// Where the NATS server is.
inline std::string nats_url() { return "nats://127.0.0.1:" + std::to_string(kNatsPort); }

}  // namespace millrace::defaults
