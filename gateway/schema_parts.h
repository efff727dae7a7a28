// The parts of which the schemas of the API consist: each function makes a JSON Schema, draft
// 2020-12. Only keywords are used that have the same meaning in draft 7, so that both kinds of
// validators accept them. Pure; for any thread.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace millrace::schema {

/// A member of an object: its name, with `?` at the end if the member may be missing, and its
/// schema.
using Member = std::pair<std::string, Json>;

/// A text.
Json text(std::string_view description = "");
/// A point in time (RFC 3339).
Json instant(std::string_view description = "");
/// A whole number of at least `least`.
Json whole(std::string_view description = "", int least = 0);
/// A whole number from 1 to `most`.
Json whole_to(size_t most);
/// A finite number.
Json number(std::string_view description = "");
/// true or false.
Json flag(std::string_view description = "");
/// Any JSON value.
Json any(std::string_view description = "");
/// Exactly this text or truth value.
Json exactly(const Json& value, std::string_view description = "");
/// One of these texts.
Json word(const std::vector<std::string_view>& words, std::string_view description = "");
/// A text of any number of these words, separated by commas.
Json words(const std::vector<std::string_view>& choices, std::string_view description = "");
/// The schema of this name (api_schemas.h).
Json ref(std::string_view name);
/// A list whose elements have this schema.
Json list(Json elements, std::string_view description = "");
/// An object that has these members and no other member.
Json object(const std::initializer_list<Member>& members);
/// An object that has these members, and may have others.
Json open_object(const std::initializer_list<Member>& members);
/// An object whose member names are data, such as ids; each value has this schema.
Json map(Json values, std::string_view description = "");
/// This schema, or null.
Json or_null(const Json& other);
/// A value that one of these schemas accepts.
Json either(std::initializer_list<Json> schemas, std::string_view description = "");
/// A page of a list: {"items": elements, "next": cursor or null}.
Json page(Json elements);
/// The member `complete` of a list, which has the same meaning in all lists.
Json complete();
/// A page of a list that a bound may end: {"items","next","complete","looked"}. `looked`: what is
/// counted there.
Json bounded_page(Json elements,
                  std::string_view looked = "How many instances were read for the page.");
/// Both schemas: an object of `base`'s members, which must be an object(), with further members.
Json extended(Json base, const std::initializer_list<Member>& members);

/// What an instance has left of its compensations.
Json compensation();
/// For what the end of an instance that is being cancelled waits.
Json cancelling();
/// The numbers of the compensations that an operator has passed over.
Json passed_compensations();

/// What the deletion of a workflow or a namespace has cancelled.
Json deletion();

/// `base`, an object(), with what a timer causes. `always`: whether its member `causes` is never
/// missing; `others`: further words of it, and `meanings`: what they mean, after those that timers
/// of instances have.
Json with_consequence(Json base, bool always = true,
                      const std::vector<std::string_view>& others = {},
                      std::string_view meanings = "");

/// The member `caller` of what a timer causes.
Json caller();

/// A call of an instance that has not ended, among what the instance waits for.
Json call_wait();

/// The id of an instance.
Json instance_id(std::string_view description = "");

}  // namespace millrace::schema
