// Bodies of HTTP requests that are forms: `application/x-www-form-urlencoded`, as slash commands of
// Slack are sent. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

/// How many fields a form may have; a field that occurs twice counts twice.
inline constexpr size_t kMostFormFields = 1'000;

/// Whether the first header `Content-Type` is that of a form; its parameters do not matter.
bool is_form(const Headers& headers);

/// The fields of a form (WHATWG URL Standard, section 5.1): `{NAME: TEXT}`, and a list of texts, in
/// their order, for a name that occurs several times. A field without `=` is an empty text; empty
/// parts between two `&` are no fields. Names are texts without a structure: `a[b]` is a name.
/// Error `mapping.form`: a `%` without two hexadecimal digits behind it, which browsers would keep;
/// a name or value that is not UTF-8; or too many fields. The message has the number of the field.
Result<Json> form_fields(std::string_view body);

}  // namespace millrace
