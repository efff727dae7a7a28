// Settings of sources and of inbound webhooks: as an inbound file, which is YAML or JSON, and as
// the JSON that an operator sends. What is accepted is within its limits, and is the same after it
// was written as JSON. The types that mappings make are known to the lint of workflows.
// Covers: orchestrator/definition/inbound_file.cc orchestrator/definition/source_settings.cc
// Covers: orchestrator/definition/inbound_webhooks.cc orchestrator/definition/event_mapping.cc
// Covers: orchestrator/definition/signature_setting.cc orchestrator/definition/inbound_types.cc
// Covers: orchestrator/definition/made_types.cc orchestrator/definition/file_types.cc
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/characters.h"
#include "base/ids.h"
#include "cloudevents/headers.h"
#include "cloudevents/subject.h"
#include "language/document.h"
#include "orchestrator/definition/file_types.h"
#include "orchestrator/definition/inbound_file.h"
#include "orchestrator/definition/inbound_types.h"
#include "orchestrator/definition/inbound_webhooks.h"
#include "orchestrator/definition/source_settings.h"
#include "tests/fuzz/finding_properties.h"
#include "tests/fuzz/inbound_grammar.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/readable_json.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/yaml_mutator.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostInboundBytes = 16'384;

/// A workflow that listens for one type, and the place of the type in it.
constexpr std::string_view kListensForOrders =
    "id: a\nstates:\n- {id: one, type: consumeEvent, event: {type: order.placed}}\n";
constexpr std::string_view kHeardType = "order.placed";
constexpr const char* kPlaceOfType = "states[0].event.type";

/// The place in `data` that a message names may be as long as the settings, with escapes.
void check_setting_error(const Error& error) {
  check_shown_error(error, 16 * kMostInboundBytes);
  CHECK(error.code == "settings.invalid", "the error is {}: {}", error.code,
        excerpt(error.message));
}

void check_mapping(const EventMapping& mapping) {
  CHECK(mapping.attributes.size() <= kMostMappedAttributes, "{} attributes",
        mapping.attributes.size());
  const std::vector<MappingProgram> programs = mapping.programs();
  CHECK(programs.size() <= kMostMappingPrograms, "{} programs", programs.size());
  CHECK(!mapping.id || !mapping.id->is_constant(), "all events have one id");
  const Result<Json> json = parse_json(mapping.text);
  CHECK(json, "the text of a mapping is not JSON: {}", excerpt(mapping.text));
  const Result<EventMapping> again = parse_mapping("mapping", *json);
  CHECK(again && *again == mapping && again->programs() == programs,
        "the text of a mapping is another one: {}", excerpt(mapping.text));
}

Json json_of_begin(const SourceBegin& begin) {
  switch (begin.kind) {
    case SourceBegin::Kind::kNew:
      return "new";
    case SourceBegin::Kind::kAll:
      return "all";
    case SourceBegin::Kind::kSequence:
      return {{"sequence", begin.sequence}};
    case SourceBegin::Kind::kTime:
      return {{"time", format_rfc3339(begin.time)}};
  }
  return nullptr;
}

/// The settings from which these were parsed, with the defaults.
Json json_of_source(const SourceSettings& source, const Json& settings) {
  Json json{{"subjects", source.subjects},
            {"begin", json_of_begin(source.begin)},
            {"rate", source.rate},
            {"consume", source.consume}};
  if (source.paused) json["paused"] = *source.paused;
  if (source.mapping) json["mapping"] = *parse_json(source.mapping->text);
  if (!source.has_source_stream()) {
    json["stream"] = source.stream;
    return json;
  }
  json["maxBytes"] = source.max_bytes;
  if (settings.contains("maxAge")) json["maxAge"] = settings["maxAge"];
  return json;
}

void check_source_subjects(const std::vector<std::string>& subjects) {
  CHECK(subjects.size() <= kMostSourceSubjects, "{} subjects", subjects.size());
  for (size_t i = 0; i < subjects.size(); ++i) {
    CHECK(is_subject_pattern(subjects[i]), "{} is no subject", excerpt(subjects[i]));
    for (size_t j = 0; j < i; ++j) {
      CHECK(!subjects_overlap(subjects[i], subjects[j]), "{} and {} overlap", excerpt(subjects[i]),
            excerpt(subjects[j]));
    }
  }
}

void check_source(const Json& settings, const SourceSettings& source) {
  check_source_subjects(source.subjects);
  CHECK(source.rate >= 1 && source.rate <= kMostSourceRate, "the rate is {}", source.rate);
  CHECK(!source.has_source_stream() || !source.subjects.empty(), "a source reads nothing");
  CHECK(source.max_bytes >= kLeastSourceStreamBytes && source.max_bytes <= kMostSourceStreamBytes,
        "a stream has {} bytes", source.max_bytes);
  CHECK(source.max_age >= kLeastSourceStreamAge && source.max_age <= kMostSourceStreamAge,
        "a stream keeps {} ms", source.max_age.count());
  CHECK(!source.consume ||
            (source.begin.kind == SourceBegin::Kind::kAll && !source.has_source_stream()),
        "a source consumes only a part of a stream");
  if (source.mapping) check_mapping(*source.mapping);
  const Result<SourceSettings> stored = read_source_settings(dump_json(settings));
  CHECK(stored && *stored == source, "stored settings are read otherwise: {}",
        excerpt(dump_json(settings)));
  const Json written = json_of_source(source, settings);
  const Result<SourceSettings> again = parse_source(written);
  CHECK(again && *again == source, "the source is another one: {}", excerpt(dump_json(written)));
  CHECK(parse_json(begin_text(settings)), "the text of the beginning is not JSON");
  CHECK(begin_text(written) == dump_json(written["begin"]), "another beginning");
}

constexpr std::array<std::pair<SignatureSetting::Form, const char*>, 7> kNamesOfForms = {
    {{SignatureSetting::Form::kGithub, "github"},
     {SignatureSetting::Form::kStripe, "stripe"},
     {SignatureSetting::Form::kSlack, "slack"},
     {SignatureSetting::Form::kStandard, "standard"},
     {SignatureSetting::Form::kHmac, "hmac"},
     {SignatureSetting::Form::kHeader, "header"},
     {SignatureSetting::Form::kBasic, "basic"}}};

/// The settings from which these were parsed, with the defaults.
Json json_of_signature(const SignatureSetting& setting) {
  using Form = SignatureSetting::Form;
  const auto* const name = std::find_if(kNamesOfForms.begin(), kNamesOfForms.end(),
                                        [&](auto& one) { return one.first == setting.form; });
  CHECK(name != kNamesOfForms.end(), "a signature has no form");
  Json json{{"form", name->second}, {"secrets", setting.secrets}};
  const bool is_hmac = setting.form == Form::kHmac;
  const bool has_stamp = setting.form == Form::kStripe || setting.form == Form::kSlack ||
                         setting.form == Form::kStandard || !setting.time_header.empty();
  if (has_stamp) {
    json["windowSeconds"] = static_cast<uint64_t>(setting.window / std::chrono::seconds(1));
  }
  if (is_hmac || setting.form == Form::kHeader) json["header"] = setting.header;
  if (setting.form == Form::kBasic) json["user"] = setting.user;
  if (!is_hmac) return json;
  const bool is_sha256 = setting.algorithm == SignatureSetting::Algorithm::kSha256;
  json["algorithm"] = is_sha256 ? "sha256" : "sha512";
  json["encoding"] = setting.encoding == SignatureSetting::Encoding::kHex ? "hex" : "base64";
  json["prefix"] = setting.prefix;
  if (setting.time_header.empty()) return json;
  json["timeHeader"] = setting.time_header;
  json["separator"] = setting.separator;
  return json;
}

void check_signature_setting(const SignatureSetting& setting) {
  CHECK(!setting.secrets.empty() && setting.secrets.size() <= kMostSignatureSecrets, "{} secrets",
        setting.secrets.size());
  for (const std::string& name : setting.secrets) CHECK(!name.empty(), "a secret has no name");
  CHECK(setting.window >= std::chrono::seconds(1) && setting.window <= std::chrono::hours(1),
        "the window is {} ms", setting.window.count());
  CHECK(!setting.separator.empty() && !is_digit(setting.separator.front()),
        "{} may be a part of a time stamp", excerpt(setting.separator));
  CHECK(setting.header.empty() || !same_header(setting.header, setting.time_header),
        "one header has the signature and the time stamp");
  const Json written = json_of_signature(setting);
  const Result<SignatureSetting> again = parse_signature("verify", written);
  CHECK(again && *again == setting, "the signature is another one: {}",
        excerpt(dump_json(written)));
}

void check_webhooks(const InboundWebhooks& webhooks) {
  CHECK(webhooks.size() <= kMostInboundWebhooks, "{} inbound webhooks", webhooks.size());
  for (const auto& [name, webhook] : webhooks) {
    CHECK(is_identifier(name), "{} is the name of an inbound webhook", excerpt(name));
    check_signature_setting(webhook.verify);
    check_mapping(webhook.mapping);
  }
}

/// What an operator sends, as any of the settings.
void check_settings_of_operator(const Json& json) {
  if (const auto source = parse_source(json)) {
    check_source(json, *source);
  } else {
    check_setting_error(source.error());
  }
  if (const auto webhooks = parse_inbound_webhooks(kInboundSetting, json)) {
    check_webhooks(*webhooks);
  } else {
    check_setting_error(webhooks.error());
  }
  if (const auto mapping = parse_mapping("mapping", json)) {
    check_mapping(*mapping);
  } else {
    check_setting_error(mapping.error());
  }
  if (const auto setting = parse_signature("verify", json)) {
    check_signature_setting(*setting);
  } else {
    check_setting_error(setting.error());
  }
}

void check_entry_of_file(const InboundEntry& entry, std::string_view text) {
  CHECK(is_identifier(entry.name), "{} is the name of an entry", excerpt(entry.name));
  // Aliases may make the settings deeper than JSON that a server reads.
  if (nests_deeper(entry.settings, kMaxJsonDepth)) return;
  if (entry.kind == InboundEntry::Kind::kSource) {
    const auto source = parse_source(entry.settings);
    CHECK(source, "an entry is no source: {}", source.error().message);
    check_source(entry.settings, *source);
  } else {
    Json settings = Json::object();
    settings[entry.name] = entry.settings;
    const auto webhooks = parse_inbound_webhooks(kInboundSetting, settings);
    CHECK(webhooks && webhooks->size() == 1, "an entry is no inbound webhook");
    check_webhooks(*webhooks);
  }
  const std::string own = std::string(kInboundSetting) + "." + entry.name;
  for (const char* const code :
       {"settings.invalid", "source.no_stream", "source.overlap", "busy"}) {
    for (const std::string& place :
         {std::string("mapping.type"), std::string("subjects[0]"), own + ".verify.secrets[0]"}) {
      Findings answers;
      add_answer(answers, entry, Severity::kError, {code, place + ": it is not there"});
      check_findings(answers, text);
    }
  }
}

/// The lint of workflows knows the types that the mappings make.
void check_types_of_entries(const std::vector<InboundEntry>& entries) {
  MadeTypes made;
  add_made_types(entries, made);
  for (const InboundEntry& entry : entries) {
    const auto found = entry.settings.find("mapping");
    if (found == entry.settings.end()) continue;
    const Template type = parse_mapping("mapping", *found)->type;
    if (!type.is_constant()) continue;
    CHECK(made.may_make(type.assemble({}).string()), "a mapping does not make its type");
  }
  const bool is_made = made.may_make(kHeardType);
  CHECK(places_of_made_types(kListensForOrders, made).contains(kPlaceOfType) == is_made,
        "the type is made, or not");
  Findings unknown;
  unknown.warning(std::string(kUnknownEventType), kPlaceOfType, {3, 1}, "nothing makes the type",
                  "write another type");
  const Findings kept = without_made_types(unknown, kListensForOrders, made);
  CHECK(kept.sorted().size() == (is_made ? 0U : 1U), "{} findings are kept", kept.sorted().size());
}

/// The lint of the file together with a workflow has findings within the file, and none about a
/// type that the file makes.
void check_lint_with_workflow(const InboundFile& file, std::string_view text) {
  FileTypes types;
  types.add_inbound(file);
  types.add_definition(kListensForOrders, {});
  Findings of_file;
  types.lint_inbound(file, of_file);
  check_findings(of_file, text);
  CHECK(of_file.sorted().size() <= file.entries.size(), "more findings than entries");
  Findings of_workflow;
  types.lint_definition(kListensForOrders, of_workflow);
  check_findings(of_workflow, kListensForOrders);
  MadeTypes made;
  add_made_types(file.entries, made);
  CHECK(of_workflow.sorted().empty() || !made.may_make(kHeardType), "the type is made");
}

/// The entries, written as JSON, are the same.
void check_file_as_json(const std::vector<InboundEntry>& entries) {
  Json json{{"sources", Json::object()}, {"hooks", Json::object()}};
  for (const InboundEntry& entry : entries) {
    const bool is_source = entry.kind == InboundEntry::Kind::kSource;
    json[is_source ? "sources" : "hooks"][entry.name] = entry.settings;
  }
  const std::string text = dump_json(json);
  // Aliases may make the JSON larger and deeper than the YAML.
  if (text.size() > kMaxDocumentSize || nests_deeper(json, kMaxJsonDepth)) return;
  if (!is_readable_json(json)) return;
  const InboundFile again = parse_inbound_file(text);
  CHECK(!again.findings.has_errors(), "the file is refused as JSON: {}",
        excerpt(render_text(again.findings, "json"), 400));
  CHECK(again.entries.size() == entries.size(), "{} entries as JSON", again.entries.size());
  for (const InboundEntry& entry : again.entries) {
    const bool is_source = entry.kind == InboundEntry::Kind::kSource;
    const Json& settings = json[is_source ? "sources" : "hooks"][entry.name];
    CHECK(is_same_value(entry.settings, settings), "the entry {} is another one as JSON",
          entry.name);
  }
}

void check_file(std::string_view text) {
  const InboundFile file = parse_inbound_file(text);
  check_findings(file.findings, text);
  CHECK(!file.findings.has_errors() || file.entries.empty(), "a file with errors has entries");
  for (const InboundEntry& entry : file.entries) check_entry_of_file(entry, text);
  check_types_of_entries(file.entries);
  check_lint_with_workflow(file, text);
  check_file_as_json(file.entries);
}

size_t mutate_inbound_file(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutate_yaml(data, size, max_size, seed, kInboundMappings);
}

}  // namespace

FUZZ_TARGET(sources) {
  if (bytes.size() > kMostInboundBytes) return;
  check_file(bytes);
  if (const Result<Json> json = parse_json(bytes)) check_settings_of_operator(*json);
}

FUZZ_MUTATOR(sources, &mutate_inbound_file);

}  // namespace millrace::fuzz
