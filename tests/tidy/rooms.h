// Rooms: the folders of the program's sources, as their CMakeLists.txt declare them, and which
// other rooms each may include. A room lists what it includes in the DEPS of its targets.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct Room {
  std::set<std::string> targets;
  std::set<std::string> reaches;  ///< folders of the rooms that its targets list in DEPS
};

/// Rooms by folder ("orchestrator/store"), read from the texts of all CMakeLists.txt by folder (""
/// is the root). A folder without a target is part of the room around it. `errors` gets a line for
/// each target that DEPS lists before it is defined: a room may use only rooms that are defined
/// before it.
std::map<std::string, Room> rooms_of(const std::map<std::string, std::string>& cmake_lists,
                                     std::vector<std::string>& errors);

/// A line for each room of broker/, functions/ and http/ that lists a room of the orchestrator
/// other than its ports. These rooms may use only the ports, so that each of them can be replaced
/// by another implementation.
std::vector<std::string> wrong_reaches(const std::map<std::string, Room>& rooms);

/// The folder of the room of a file; empty: the file belongs to no room.
std::string room_of(const std::map<std::string, Room>& rooms, std::string_view file);

/// A line for each include from a room that the file's room does not list: "base/ids.cc:3: …".
std::vector<std::string> wrong_includes(const std::map<std::string, Room>& rooms,
                                        std::string_view file, std::string_view text);

}  // namespace millrace
