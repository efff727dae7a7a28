// Instantiates the template that base/precompiled.h declares as extern.
#include <fmt/format.h>

template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::basic_string_view<char>,
    fmt::basic_format_args<fmt::buffer_context<fmt::type_identity_t<char>>>,
    fmt::detail::locale_ref);
