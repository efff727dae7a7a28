// Default values of a server's settings. The command line, its help texts and the code that the
// settings configure all use these constants, so that each number is defined once.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace millrace::defaults {

inline constexpr uint16_t kHttpPort = 8780;  ///< port of the gateway, on loopback
inline constexpr uint16_t kNatsPort = 4222;  ///< port of the NATS server

/// The first tokens of the subjects on which the NATS server answers.
inline constexpr const char* kInboxPrefix = "_INBOX";

/// Timeout for evaluating one state.
inline constexpr Duration kTaskTimeout = std::chrono::seconds(10);

/// How long a call of an HTTP or NATS service without a timeout may take.
inline constexpr Duration kCallTimeout = std::chrono::minutes(10);

/// Deduplication window: how long source and id of an event are remembered, by the broker's
/// timestamps, and how many events are remembered.
inline constexpr Duration kDedupeWindow = std::chrono::minutes(10);
inline constexpr uint64_t kDedupeEvents = 4'000'000;

/// Size of the store in bytes; a store that has reached this size refuses new work.
inline constexpr uint64_t kStoreLimit = uint64_t{1} << 40;

/// Bytes that are held in memory and in the journal before a checkpoint writes them to LMDB.
inline constexpr uint64_t kCheckpointBytes = uint64_t{16} << 20;

/// Bytes of the bodies and answers of all HTTP requests together.
inline constexpr uint64_t kHttpMemory = uint64_t{256} << 20;
/// The smallest value of this setting; with less, the largest body or answer would never fit.
inline constexpr uint64_t kLeastHttpMemory = uint64_t{32} << 20;

/// A folder of a file system in memory, for the files of calls that get secrets.
inline constexpr const char* kMemoryFolder = "/dev/shm";

/// The address that the gateway listens on: host and port.
inline std::string listen_address() { return "127.0.0.1:" + std::to_string(kHttpPort); }

/// The URL at which clients reach the gateway.
inline std::string server_url() { return "http://" + listen_address(); }

/// The URL of the NATS server.
inline std::string nats_url() { return "nats://127.0.0.1:" + std::to_string(kNatsPort); }

}  // namespace millrace::defaults
