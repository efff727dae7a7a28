// What other namespaces have, for a user who has looked in the wrong one. For one thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/session.h"

namespace millrace {

/// The other namespaces for which the list that `call` returns has an item. Looks at the first ten
/// of them, and for two seconds at most; a namespace whose list fails is not named. A `limit` in
/// the query of the call becomes 1: a list without this parameter refuses it.
std::vector<std::string> find_in_other_namespaces(Session& session, const ApiCall& call);

/// `; other namespaces have some: billing (-n billing)`, about these names; empty: there are none.
/// `what`: what they have.
std::string other_namespaces_text(const std::vector<std::string>& names,
                                  std::string_view what = "some");

/// The failure of a call for an instance. If its error is `instance.not_found`, it also says which
/// other namespaces have an instance with that id.
tl::unexpected<Failure> instance_failure(Session& session, const std::string& id, Failure failure);

}  // namespace millrace
