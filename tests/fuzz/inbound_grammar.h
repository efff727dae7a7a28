// The keys of inbound files (orchestrator/definition/inbound_file.h) as tables, for the mutator of
// YAML texts. The words are values that are right, or nearly right. Constants; any thread.
#pragma once

#include <array>

#include "language/grammar.h"

namespace millrace::fuzz {

inline constexpr Word kStreamWords[] = {{"ORDERS", ""}, {"a.b", ""}, {"MILLRACE_EVENTS", ""}};
inline constexpr Word kSubjectWords[] = {{"shop.orders.*", ""}, {"shop.>", ""},   {"'*.a'", ""},
                                         {"$SYS.a", ""},        {"_INBOX.a", ""}, {"a..b", ""}};
inline constexpr Word kBeginWords[] = {{"new", ""},
                                       {"all", ""},
                                       {"{sequence: 7}", ""},
                                       {"{sequence: 18446744073709551615}", ""},
                                       {"{time: '2026-01-01T00:00:00Z'}", ""},
                                       {"{time: '9999-12-31T23:59:59.9999Z'}", ""}};
inline constexpr Word kRateWords[] = {{"1", ""}, {"100000", ""}, {"100001", ""}};
inline constexpr Word kFlagWords[] = {{"true", ""}, {"false", ""}};
inline constexpr Word kByteWords[] = {{"1MiB", ""}, {"1TiB", ""}, {"268435456", ""}, {"2TiB", ""}};
inline constexpr Word kAgeWords[] = {{"1m", ""}, {"366d", ""}, {"P1M", ""}, {"PT59.999S", ""}};
inline constexpr Word kMappingWords[] = {{"{type: order.placed}", ""},
                                         {"{type: 'shop.jq(.tokens[2])', id: 'jq(.data.id)'}", ""}};
inline constexpr Word kTypeWords[] = {
    {"order.placed", ""}, {"'order.jq(.tokens[1])'", ""}, {"'jq(.data.type)'", ""}};
inline constexpr Word kIdWords[] = {{"'jq(.data.id)'", ""}, {"'jq(.stream)-jq(.sequence)'", ""}};
inline constexpr Word kAttributeWords[] = {{"{orderid: 'jq(.data.id)', n: 7, yes: true}", ""},
                                           {"{millracehops: 1}", ""},
                                           {"{time: a}", ""}};
inline constexpr Word kDataWords[] = {{"'jq(.data)'", ""}, {"{a: [1.5, 'x jq(.subject)']}", ""}};
inline constexpr Word kVerifyWords[] = {
    {"{form: github, secrets: [a, b]}", ""},
    {"{form: stripe, secrets: [a], windowSeconds: 60}", ""},
    {"{form: hmac, secrets: [a], header: X-Signature, timeHeader: X-Time}", ""},
    {"{form: basic, secrets: [a], user: u}", ""}};
inline constexpr Word kFormWords[] = {{"github", ""},   {"stripe", ""}, {"slack", ""},
                                      {"standard", ""}, {"hmac", ""},   {"header", ""},
                                      {"basic", ""}};
inline constexpr Word kHeaderWords[] = {{"X-Signature", ""}, {"x-time", ""}, {"a b", ""}};
inline constexpr Word kWindowWords[] = {{"1", ""}, {"3600", ""}, {"3601", ""}};
inline constexpr Word kAlgorithmWords[] = {{"sha256", ""}, {"sha512", ""}, {"sha1", ""}};
inline constexpr Word kEncodingWords[] = {{"hex", ""}, {"base64", ""}};
inline constexpr Word kSeparatorWords[] = {{"'.'", ""}, {"':'", ""}, {"'1'", ""}, {"''", ""}};

inline constexpr KeyRule kSourceKeys[] = {
    {.name = "stream", .words = kStreamWords},
    {.name = "subjects", .list = true, .words = kSubjectWords},
    {.name = "begin", .words = kBeginWords},
    {.name = "rate", .words = kRateWords},
    {.name = "paused", .words = kFlagWords},
    {.name = "mapping", .words = kMappingWords},
    {.name = "maxBytes", .words = kByteWords},
    {.name = "maxAge", .words = kAgeWords},
    {.name = "consume", .words = kFlagWords},
};
inline constexpr KeyRule kMappingKeys[] = {
    {.name = "type", .words = kTypeWords},    {.name = "source", .words = kTypeWords},
    {.name = "id", .words = kIdWords},        {.name = "time", .words = kIdWords},
    {.name = "subject", .words = kTypeWords}, {.name = "attributes", .words = kAttributeWords},
    {.name = "data", .words = kDataWords},
};
inline constexpr KeyRule kWebhookKeys[] = {
    {.name = "verify", .words = kVerifyWords},
    {.name = "mapping", .words = kMappingWords},
    {.name = "paused", .words = kFlagWords},
};
inline constexpr KeyRule kVerifyKeys[] = {
    {.name = "form", .words = kFormWords},
    {.name = "secrets", .list = true},
    {.name = "header", .words = kHeaderWords},
    {.name = "timeHeader", .words = kHeaderWords},
    {.name = "windowSeconds", .words = kWindowWords},
    {.name = "algorithm", .words = kAlgorithmWords},
    {.name = "encoding", .words = kEncodingWords},
    {.name = "prefix"},
    {.name = "separator", .words = kSeparatorWords},
    {.name = "user"},
};

inline constexpr Mapping kSourceMapping = {.name = "Source", .groups = {kSourceKeys}};
inline constexpr Mapping kEventMapping = {.name = "EventMapping", .groups = {kMappingKeys}};
inline constexpr Mapping kWebhookMapping = {.name = "InboundWebhook", .groups = {kWebhookKeys}};
inline constexpr Mapping kVerifyMapping = {.name = "Signature", .groups = {kVerifyKeys}};

inline constexpr std::array<const Mapping*, 4> kInboundMappings = {
    &kSourceMapping, &kEventMapping, &kWebhookMapping, &kVerifyMapping};

}  // namespace millrace::fuzz
