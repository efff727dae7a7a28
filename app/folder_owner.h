// The server that uses a data folder: a verb that is to read a folder in use asks that server.
#pragma once

#include <string>
#include <string_view>

#include "cli/console.h"
#include "cli/session.h"

namespace millrace {

/// Makes sure that the server at --url is the one that uses the folder `data`, and says on standard
/// error that this server is asked. `locked` is the error with which the folder did not open, which
/// names the process that uses it. `what` is what the server is asked for: "the check". `again` is
/// what to do when the server answers again: "check again". Exit kNotFound and kFailed: `locked` is
/// another error than `store.locked`; kUnreachable: the server did not answer; kConflict: the
/// server uses another folder.
Fallible<void> find_folder_owner(Session& session, const std::string& data, const Error& locked,
                                 std::string_view what, std::string_view again);

}  // namespace millrace
