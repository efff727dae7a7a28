// The grammar of URIs (RFC 3986), for the attributes `source` and `dataschema`.
#pragma once

#include <string_view>

namespace millrace {

/// Whether the text is a URI or a relative reference (section 4.1). The empty text is a relative
/// reference.
bool is_uri_reference(std::string_view text);

/// Whether the text is a URI with a scheme. Unlike in section 4.3 it may have a fragment, as URIs
/// of schemas do.
bool is_absolute_uri(std::string_view text);

}  // namespace millrace
