#include "cli/explain.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cloudevents/headers.h"
#include "language/findings.h"
#include "language/grammar.h"
#include "language/instance_members.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

std::string_view one_of(Kind kind) {
  switch (kind) {
    case Kind::kText:
    case Kind::kFunction:
      return "a string";
    case Kind::kIdentifier:
      return "an identifier: letters, digits, \".\", \"-\", \"_\"";
    case Kind::kBoolean:
      return "true or false";
    case Kind::kInteger:
      return "a whole number";
    case Kind::kNumber:
      return "a number";
    case Kind::kDuration:
      return "a duration such as \"PT1H\" or \"1h 30m\"";
    case Kind::kWord:
    case Kind::kType:
      return "one of";
    case Kind::kQuery:
      return "one of three: a bare jq program, jq(…) around a program, any value with jq(…) in its "
             "strings";
    case Kind::kCommand:
      return "any value; each jq(…) in its strings is evaluated; the string \".\" stands for all "
             "the data";
    case Kind::kTemplate:
      return "a string; jq(…) in it is evaluated";
    case Kind::kMessage:
      return "a string, which may contain %s, %v, %d, %i, %f, %g, %x, %q, %t and %%";
    case Kind::kState:
      return "the id of a state";
    case Kind::kEventType:
      return "a string without jq";
    case Kind::kAttribute:
      return "the name of a context attribute";
    case Kind::kPatterns:
      return "a mapping: for each attribute an ECMAScript pattern, a number or a boolean";
    case Kind::kAttributes:
      return "a mapping: for each attribute a string, which may contain jq(…)";
    case Kind::kCron:
      return "five cron fields, or a macro such as @hourly; CRON_TZ=Area/City may precede them";
    case Kind::kGlob:
      return "a glob: \"*\" matches any number of characters, \"?\" matches one";
    case Kind::kPattern:
      return "an ECMAScript pattern";
    case Kind::kMediaType:
      return "a media type such as text/plain";
    case Kind::kObject:
      return "a mapping";
    case Kind::kUntil:
      return "a time with an offset such as \"2027-01-01T09:00:00+01:00\", or a number of seconds "
             "since 1970; jq(…) may yield it";
    case Kind::kRetryText:
      return "a string such as \"fixed(3, 1s)\": three attempts, with a second before each further "
             "one";
    case Kind::kSchema:
      return "a JSON Schema";
    case Kind::kSchemaOrId:
      return "a JSON Schema, or the id of one in `schemas`";
  }
  return "";
}

std::string bounds_of(const KeyRule& key) {
  if (key.above_min) return fmt::format(" above {}", *key.min);
  if (key.min && key.max) return fmt::format(" from {} to {}", *key.min, *key.max);
  if (key.min) return fmt::format(" of at least {}", *key.min);
  if (key.max) return fmt::format(" of at most {}", *key.max);
  return "";
}

/// Describes the values that the key accepts.
std::string value_of(const KeyRule& key) {
  std::string value(one_of(key.kind));
  value += bounds_of(key);
  if (key.object != nullptr) value = std::string(key.object->name);
  if (key.instead) value += fmt::format(", or {}", one_of(*key.instead));
  if (key.list) value = "a list of: " + value;
  return value;
}

/// Compares a given name with a name of the grammar, ignoring case.
bool same(std::string_view a, std::string_view b) { return to_lower(a) == to_lower(b); }

bool is_called(const KeyRule& key, std::string_view name) {
  const std::vector<std::string_view> names = key.names();
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return same(one, name); });
}

bool is_called(const Mapping& mapping, std::string_view name) {
  return same(mapping.name, name) ||
         (!name.empty() &&
          std::any_of(mapping.types.begin(), mapping.types.end(),
                      [&](std::string_view one) { return !one.empty() && same(one, name); }));
}

/// A key, and the mappings that have it.
struct Use {
  const KeyRule* key;
  std::vector<const Mapping*> mappings;
};

/// The keys and mappings that a name or path refers to.
struct Found {
  std::vector<Use> keys;
  std::vector<const Mapping*> mappings;

  void add(const Mapping& mapping) {
    if (std::find(mappings.begin(), mappings.end(), &mapping) == mappings.end()) {
      mappings.push_back(&mapping);
    }
  }
  void add(const KeyRule& key, const Mapping& mapping) {
    for (Use& use : keys) {
      // A key with the same name and meaning in several mappings is explained once.
      if (use.key != &key && (use.key->meaning != key.meaning || use.key->name != key.name)) {
        continue;
      }
      if (std::find(use.mappings.begin(), use.mappings.end(), &mapping) == use.mappings.end()) {
        use.mappings.push_back(&mapping);
      }
      return;
    }
    keys.push_back({&key, {&mapping}});
  }
};

void add_matches(const Mapping& mapping, std::string_view name, Found& found) {
  for (const KeyRule* key : mapping.keys()) {
    if (is_called(*key, name)) found.add(*key, mapping);
  }
}

/// The kinds of the mapping, which repeat its keys; the mapping itself if it has no kinds.
std::vector<const Mapping*> with_kinds(const Mapping& mapping) {
  if (mapping.kinds.empty()) return {&mapping};
  return {mapping.kinds.begin(), mapping.kinds.end()};
}

/// Finds `name` among the names and keys of the mappings.
Found below(const std::vector<const Mapping*>& mappings, std::string_view name) {
  Found found;
  for (const Mapping* mapping : mappings) {
    if (is_called(*mapping, name)) found.add(*mapping);
    add_matches(*mapping, name, found);
  }
  return found;
}

/// The mappings in `found`, and the mappings that are values of the keys in `found`.
std::vector<const Mapping*> behind(const Found& found) {
  std::vector<const Mapping*> mappings = found.mappings;
  for (const Use& use : found.keys) {
    if (use.key->object == nullptr) continue;
    for (const Mapping* one : with_kinds(*use.key->object)) mappings.push_back(one);
  }
  return mappings;
}

Found look_up(std::string_view path) {
  std::vector<const Mapping*> mappings;
  for (const Mapping* mapping : all_mappings()) {
    // A mapping with kinds is left out: its kinds repeat its keys.
    if (mapping->kinds.empty()) mappings.push_back(mapping);
  }
  bool is_first = true;
  while (true) {
    const size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    Found found = below(mappings, name);
    if (is_first) {
      for (const Mapping* mapping : all_mappings()) {
        if (is_called(*mapping, name)) found.add(*mapping);
      }
    }
    is_first = false;
    if (dot == std::string_view::npos) return found;
    path.remove_prefix(dot + 1);
    mappings = behind(found);
  }
}

/// The names of the mappings, with commas. All kinds of one mapping become one entry: `every NAME`.
std::string names_of(std::vector<const Mapping*> mappings) {
  std::vector<std::string> names;
  for (const Mapping* mapping : all_mappings()) {
    const auto is_meant = [&](const Mapping* kind) {
      return std::find(mappings.begin(), mappings.end(), kind) != mappings.end();
    };
    const auto& kinds = mapping->kinds;
    if (kinds.empty() || !std::all_of(kinds.begin(), kinds.end(), is_meant)) continue;
    names.push_back(fmt::format("every {}", mapping->name));
    std::erase_if(mappings, [&](const Mapping* one) {
      return std::find(kinds.begin(), kinds.end(), one) != kinds.end();
    });
  }
  for (const Mapping* mapping : mappings) names.emplace_back(mapping->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A name and what it means, in one line.
struct Line {
  std::string_view name;
  std::string meaning;
};

void print(const std::vector<Line>& lines, std::ostream& out) {
  size_t width = 18;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  for (const Line& line : lines) {
    out << fmt::format("    {:<{}} {}\n", line.name, width, line.meaning);
  }
}

/// The kinds of the mapping, or its keys if it has no kinds.
void print_parts(const Mapping& mapping, std::ostream& out) {
  std::vector<Line> lines;
  for (const Mapping* const kind : mapping.kinds) {
    lines.push_back({kind->types[0], std::string(kind->meaning)});
  }
  if (mapping.kinds.empty()) {
    for (const KeyRule* const key : mapping.keys()) {
      const bool is_required = key->required && key->alternative.empty();
      lines.push_back({key->name, std::string(key->meaning) + (is_required ? " Required." : "")});
    }
  }
  print(lines, out);
}

void explain(const Use& use, std::ostream& out) {
  const KeyRule& key = *use.key;
  out << key.name << ": " << value_of(key) << "\n  " << key.meaning << "\n";
  std::vector<Line> lines;
  if (key.kind == Kind::kType) {
    for (const Mapping* mapping : use.mappings) {
      lines.push_back({mapping->types[0], std::string(mapping->meaning)});
    }
  }
  for (const Word& word : key.words) lines.push_back({word.word, std::string(word.meaning)});
  print(lines, out);
  if (key.object != nullptr) print_parts(*key.object, out);
  if (key.required && key.alternative.empty()) out << "  required\n";
  if (!key.alternative.empty()) {
    out << fmt::format("  {} `{}`\n", key.required ? "required, or" : "not together with",
                       key.alternative);
  }
  if (key.jq) out << "  jq(…) in it is evaluated\n";
  if (!key.otherwise.empty()) out << "  default: " << key.otherwise << "\n";
  for (const std::string_view name : key.names()) {
    if (name != key.name) out << "  also written: " << name << "\n";
  }
  if (key.inlined) out << "  instead of this key, the keys of its mapping may be written\n";
  out << "  in: " << names_of(use.mappings) << "\n";
  if (key.own) out << "  an addition of millrace: Direktiv does not have this key\n";
}

void explain(const Mapping& mapping, std::ostream& out) {
  out << mapping.name;
  if (!mapping.types[0].empty()) {
    out << fmt::format(" ({}: {}{})", mapping.chooser(), mapping.types[0],
                       mapping.types[1].empty() ? "" : fmt::format(" or {}", mapping.types[1]));
  }
  out << "\n  " << mapping.meaning << "\n";
  print_parts(mapping, out);
  out << fmt::format("  defined by: {}, \"{}\"\n", mapping.source, mapping.section);
}

constexpr std::string_view kInstanceName = "$instance";

Ended explain_variable(std::ostream& out) {
  out << kInstanceName
      << "\n  In the jq programs of states: facts about the instance that they run for.\n";
  std::vector<Line> lines;
  for (const InstanceMember& member : kInstanceMembers) {
    lines.push_back({member.name, std::string(member.meaning)});
  }
  print(lines, out);
  out << "  an addition of millrace: Direktiv does not have this variable\n";
  return ExitCode::kOk;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const Mapping* mapping : all_mappings()) {
    names.push_back(mapping->name);
    for (const std::string_view type : mapping->types) {
      if (!type.empty()) names.push_back(type);
    }
    for (const KeyRule* key : mapping->keys()) {
      for (const std::string_view name : key->names()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

Ended explain_key(Console& console, const std::string& name) {
  if (name == kInstanceName) return explain_variable(console.out);
  const Found found = look_up(name);
  if (found.keys.empty() && found.mappings.empty()) {
    const size_t dot = name.rfind('.');
    const std::string_view last =
        std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
    return give_up(
        ExitCode::kNotFound, "cli.no_key",
        fmt::format("unknown key {}{}", in_quotes(name), did_you_mean(last, all_names())));
  }
  bool is_first = true;
  const auto next = [&] {
    if (!is_first) console.out << "\n";
    is_first = false;
  };
  for (const Mapping* mapping : found.mappings) {
    next();
    explain(*mapping, console.out);
  }
  for (const Use& use : found.keys) {
    next();
    explain(use, console.out);
  }
  return ExitCode::kOk;
}

}  // namespace millrace
