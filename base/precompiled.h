// The precompiled header of all targets: the headers that nearly every unit reads. No source file
// includes it. A build without precompiled headers (./dev lint) compiles the same program.
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

// The literals of nlohmann's library are plain inline functions: for their sake every unit would
// instantiate its JSON parser, at half a second each. As templates that nothing calls they cost
// nothing.
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

// Behind fmt::format_to and each line of the log; precompiled.cc has it. fmt 9 declares it nowhere,
// so that every unit would compile all of its formatting, of floating-point numbers too.
extern template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::basic_string_view<char>,
    fmt::basic_format_args<fmt::buffer_context<fmt::type_identity_t<char>>>,
    fmt::detail::locale_ref);
