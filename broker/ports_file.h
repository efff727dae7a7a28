// Reads the file in which a nats-server names its ports (`--ports_file_dir`). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

/// The port on which a nats-server accepts connections, from the text of its ports file, such as
/// {"nats":["nats://127.0.0.1:4222"]}. nullopt: the text is not complete yet, or names no port.
std::optional<uint16_t> port_in_ports_file(std::string_view text);

}  // namespace millrace
