// The precompiled header of all targets, with the headers that nearly every unit needs. No source
// file includes it. A build without precompiled headers (./dev lint) compiles the same program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

// nlohmann defines its literals as plain inline functions. Because of these literals every unit
// would instantiate the JSON parser, which takes half a second for each unit. The macros below turn
// the literals into templates that nothing calls, which cost nothing.
#define JSON_USE_GLOBAL_UDLS 0
#define _json                               \
  _json(const char*, std::size_t) = delete; \
  template <class>                          \
  nlohmann::json no_literal
#define _json_pointer                               \
  _json_pointer(const char*, std::size_t) = delete; \
  template <class>                                  \
  nlohmann::json no_pointer
#include <nlohmann/json.hpp>
#undef _json
#undef _json_pointer

// fmt::format_to and every log line use this function; precompiled.cc instantiates it. fmt 9 does
// not declare the function as extern; without this declaration every unit would compile all of the
// formatting code, including that of floating-point numbers.
extern template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::basic_string_view<char>,
    fmt::basic_format_args<fmt::buffer_context<fmt::type_identity_t<char>>>,
    fmt::detail::locale_ref);
