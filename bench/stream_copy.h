// Copies of a JetStream stream: a snapshot of the stream of one broker, which another broker
// restores with the same messages, sequences, times and time of creation. Errors end the program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace millrace {

/// A snapshot as the JetStream API gives it out.
struct StreamCopy {
  Json config;
  Json state;
  std::string bytes;  ///< a compressed archive, which only a NATS server reads
};

/// Takes a snapshot of the stream, also while messages are published to the stream. Consumers are
/// not part of the copy.
StreamCopy copy_stream(const std::string& url, const std::string& stream);

/// Makes the stream of the copy on a broker that has no stream of that name.
void restore_stream(const std::string& url, const StreamCopy& copy);

/// Calls `heard` with the data of each message that the stream has on `subject` from sequence
/// `first` on, and returns after the last of them. `heard` is called on a thread of the client
/// library.
void read_stream(const std::string& url, const std::string& stream, const std::string& subject,
                 uint64_t first, const std::function<void(std::string_view data)>& heard);

/// The last sequence of the stream; 0 if the stream has had no message or does not exist.
uint64_t last_sequence(const std::string& url, const std::string& stream);

}  // namespace millrace
