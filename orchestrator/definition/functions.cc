#include "orchestrator/definition/functions.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "states/variable_fields.h"

namespace millrace {
namespace {

/// The types of a function. The last two types are Direktiv's own: for services of the namespace
/// and for global services.
enum class Type {
  kService,
  kContainer,
  kContainerPool,
  kSubflow,
  kNamespaceService,
  kGlobalService,
};

/// Whether `part` is valid between two slashes of a path, so that the path stays within its folder.
bool is_part_of_path(std::string_view part) {
  return !part.empty() && part.size() <= 255 && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= ' ' || c < 0; }) &&
         part.find('\x7f') == std::string_view::npos;
}

/// Whether `name` is a valid path of a file in the function's folder. `out` is excluded: into that
/// folder the function writes the files that become variables.
bool is_file_name(std::string_view name) {
  constexpr size_t kLongest = 1024;
  if (name.size() > kLongest || name.substr(0, name.find('/')) == "out") return false;
  while (true) {
    const size_t slash = name.find('/');
    if (!is_part_of_path(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

/// Whether the text is an image name such as `registry:5000/team/tool:1.2@sha256:…`: without white
/// space, and without a first character that makes it an option of a command line.
bool is_image(std::string_view text) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return is_letter_or_digit(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter_or_digit(c) || std::string_view("._-/:@").find(c) != std::string::npos;
         });
}

FunctionFile read_file(StateFields& entry) {
  Fields& fields = entry.plain();
  VariableReference variable = variable_reference(entry);
  FunctionFile file{.key = std::move(variable.key), .scope = variable.scope};
  file.as = fields.string("as").value_or(file.key);
  file.type = fields
                  .one_of<FileType>("type", {{"plain", FileType::kPlain},
                                             {"base64", FileType::kBase64},
                                             {"tar", FileType::kTar},
                                             {"tar.gz", FileType::kTarGz}})
                  .value_or(FileType::kPlain);
  if (!file.key.empty() && !is_file_name(file.as)) {
    fields.report(fields.has("as") ? "as" : "key", "definition.file_name",
                  fmt::format("{} is not a valid file name: expected a path within the function's "
                              "folder and outside its `out`",
                              in_quotes(file.as)));
  }
  return file;
}

/// The paths of a function's files. The paths must be unique, and no path may lead into another
/// one.
class FileNames {
 public:
  /// Adds a path. Returns an earlier path that conflicts with `name`: the same path, a folder of
  /// it, or a path inside it; null: no path conflicts.
  const std::string* add(const std::string& name) {
    for (size_t slash = name.find('/'); slash != std::string::npos;) {
      if (const std::string* const folder = find(name.substr(0, slash))) return folder;
      slash = name.find('/', slash + 1);
    }
    const auto inside = names_.lower_bound(name + "/");
    if (inside != names_.end() && inside->starts_with(name + "/")) return &*inside;
    const auto [same, is_new] = names_.insert(name);
    return is_new ? nullptr : &*same;
  }

 private:
  const std::string* find(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &*found;
  }

  std::set<std::string> names_;
};

std::vector<FunctionFile> read_files(Fields& fields, LoadContext& context) {
  std::vector<FunctionFile> files;
  FileNames names;
  fields.objects("files", [&](Fields& nested) {
    StateFields entry(nested, context);
    FunctionFile file = read_file(entry);
    if (const std::string* const other = names.add(file.as); other != nullptr) {
      nested.report(
          nested.has("as") ? "as" : "key", "definition.file_name",
          *other == file.as
              ? fmt::format("another file already has the name {}", in_quotes(file.as))
              : fmt::format("{} and {} cannot both be files: one would be inside the other",
                            in_quotes(*other), in_quotes(file.as)));
    }
    files.push_back(std::move(file));
  });
  return files;
}

std::string read_image(StateFields& function) {
  std::string image = function.required_nonempty("image");
  if (!image.empty() && !is_image(image)) {
    function.plain().report(
        "image", "definition.value",
        fmt::format("{} is not an image name; write one such as registry.example/team/tool:1.2",
                    in_quotes(image)));
  }
  return image;
}

Container read_container(StateFields& function, bool isolated) {
  Fields& fields = function.plain();
  Container container{.isolated = isolated, .image = read_image(function)};
  container.cmd = fields.string("cmd").value_or("");
  container.size = fields
                       .one_of<ContainerSize>("size", {{"small", ContainerSize::kSmall},
                                                       {"medium", ContainerSize::kMedium},
                                                       {"large", ContainerSize::kLarge}})
                       .value_or(ContainerSize::kSmall);
  container.scale = static_cast<uint32_t>(fields.integer("scale").value_or(0));
  return container;
}

}  // namespace

void read_function(Fields& entry, LoadContext& context) {
  StateFields fields(entry, context);
  auto function = std::make_shared<Function>();
  function->id = entry.required_identifier("id");
  std::optional<Type> type;
  if (entry.require("type")) {
    type = entry.one_of<Type>("type", {{"service", Type::kService},
                                       {"container", Type::kContainer},
                                       {"container-pool", Type::kContainerPool},
                                       {"subflow", Type::kSubflow},
                                       {"knative-namespace", Type::kNamespaceService},
                                       {"knative-global", Type::kGlobalService},
                                       {"isolated", Type::kContainer},
                                       {"reusable", Type::kContainerPool}});
  }
  WrittenTimeouts timeouts;
  if (!type) {
    entry.pass_over();  // the reader cannot know the other keys, which depend on the type
  } else {
    switch (*type) {
      case Type::kSubflow:
        function->runs = Subflow{entry.required_identifier("workflow")};
        break;
      case Type::kService:
      case Type::kNamespaceService:
      case Type::kGlobalService: {
        const bool is_global = *type == Type::kGlobalService ||
                               (*type == Type::kService && entry.boolean("global").value_or(false));
        function->runs =
            NamedService{.name = entry.required_identifier("service"), .global = is_global};
        break;
      }
      case Type::kContainer:
      case Type::kContainerPool:
        function->runs = read_container(fields, *type == Type::kContainer);
        break;
    }
    if (entry.takes("files")) function->files = read_files(entry, context);
    if (entry.takes("concurrency")) function->flow = fields.call_flow(nullptr);
    timeouts = read_timeouts(entry);
    function->policy = {.retries = read_retries(entry), .timeouts = timeouts.policy};
  }
  if (function->id.empty()) return;
  const std::string id = function->id;
  if (!context.functions.emplace(id, std::move(function)).second) {
    entry.report("id", "definition.duplicate_id",
                 fmt::format("another function has the id {} already", in_quotes(id)));
    return;
  }
  context.function_timeouts.emplace(id, timeouts);
}

}  // namespace millrace
