// The events of lifecycles: their texts, and what an event says about its lifecycle. The key of a
// lifecycle ends with `-` and the number of the lifecycle.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// The subject to which events of a namespace are published.
std::string bench_subject(std::string_view ns);

/// The subject of the events that the instances of a workflow of workflows.h generate.
std::string done_subject(std::string_view workflow, std::string_view ns = "default");

/// The key of a lifecycle. `run` separates two measurements on one store, which use equal numbers.
std::string lifecycle_key(std::string_view workflow, std::string_view run, size_t number);

/// The event that starts the instance of the key, and the event that wakes it. The ids of these
/// events are `s` and `g`, followed by the key.
std::string start_event(std::string_view workflow, std::string_view key);
std::string wake_event(std::string_view workflow, std::string_view key);

/// The number at the end of a key, or at the end of an id that ends with a key.
size_t number_of_key(std::string_view key);

/// The key of the lifecycle that generated the event. An event without a key ends the program.
std::string_view key_in(std::string_view generated_event);

/// The `id` of any event in the JSON format; ends the program if there is none.
std::string_view id_in(std::string_view event);

}  // namespace millrace
