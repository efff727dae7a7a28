// The grammar of URIs (RFC 3986): what may be a `source` and a `dataschema`.
#pragma once

#include <string_view>

namespace millrace {

/// Section 4.1: a URI or a relative reference. The empty text is one.
bool is_uri_reference(std::string_view text);

/// A reference with a scheme. Unlike section 4.3 it may have a fragment, as schemas' URIs do.
bool is_absolute_uri(std::string_view text);

}  // namespace millrace
