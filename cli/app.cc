// The only file that includes CLI11.
#include "cli/app.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/token_file.h"
#include "language/findings.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// The grammar, and what was chosen by parsing it.
class App {
 public:
  App(Console& console, const ProgramVerbs& hooks) : console_(console), hooks_(hooks) {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("--version", "millrace " MILLRACE_VERSION);
    app_.add_option("--url", url_, "The server (MILLRACE_URL; http://127.0.0.1:8780)")
        ->type_name("URL");
    app_.add_option("--token-file", token_file_,
                    "The file with the token for the server (MILLRACE_TOKEN_FILE, or the token "
                    "itself in MILLRACE_TOKEN)")
        ->type_name("FILE");
    app_.add_option("-n,--namespace", space_, "The namespace (MILLRACE_NAMESPACE; default)")
        ->type_name("NAME");
    app_.add_option("-o,--output", format_,
                    "table (default on a terminal), json, jsonl, yaml or name")
        ->type_name("FORMAT");
    add_server();
    add_language();
    add_authoring();
    add_workflow();
    add_instance();
    add_function();
    add_schedule();
    add_event();
    add_lists();
    add_variable();
    add_secret();
    add_namespace();
    add_run();
    if (hooks_.verify != nullptr) add_verify();
    asking(app_, "status", "Says whether the server is ready to take events; exit 1 if not",
           "millrace status", show_status);
    verb(app_, "version", "Prints the version of this program", "millrace version -o json",
         [this]() -> Ended {
           if (format_.empty() || format_ == "table") {
             console_.out << "millrace " MILLRACE_VERSION "\n";
             return ExitCode::kOk;
           }
           const Format format = TRY(parse_format(format_, console_.out_is_terminal));
           Output(console_, format).item({{"version", MILLRACE_VERSION}}, "version");
           return ExitCode::kOk;
         });
  }

  int run(std::vector<std::string> arguments) {
    if (const std::optional<std::string> wrong = wrong_verb(arguments)) {
      return end(wrong_usage(*wrong));
    }
    try {
      std::reverse(arguments.begin(), arguments.end());
      app_.parse(std::move(arguments));
    } catch (const CLI::Success& wanted) {
      return app_.exit(wanted, console_.out, console_.err);
    } catch (const CLI::ParseError& error) {
      return end(wrong_usage(error.what()));
    }
    return end(chosen_());
  }

 private:
  using Do = std::function<Ended()>;
  using DoInSession = std::function<Ended(Session&)>;

  static CLI::App& noun(CLI::App& parent, const std::string& name, const std::string& what) {
    return *parent.add_subcommand(name, what)->require_subcommand(1);
  }

  CLI::App& verb(CLI::App& parent, const std::string& name, const std::string& what,
                 const std::string& example, Do work) {
    CLI::App& added = *parent.add_subcommand(name, what);
    added.footer("Example:\n  " + example);
    added.callback([this, work = std::move(work)] { chosen_ = work; });
    return added;
  }

  CLI::App& asking(CLI::App& parent, const std::string& name, const std::string& what,
                   const std::string& example, DoInSession work) {
    return verb(parent, name, what, example, [this, work = std::move(work)]() -> Ended {
      const Format format = TRY(parse_format(format_, console_.out_is_terminal));
      std::string token = TRY(this->token());
      Session session{
          console_,
          Client(setting(url_, {"MILLRACE_URL"}, "http://127.0.0.1:8780"), std::move(token)),
          setting(space_, {"MILLRACE_NAMESPACE"}, "default"), Output(console_, format)};
      return work(session);
    });
  }

  /// What is wrong with the noun and the verb, if anything is. CLI11 looks at them after `--help`,
  /// and does not name the word that it does not know.
  std::optional<std::string> wrong_verb(const std::vector<std::string>& arguments) const {
    const CLI::App* at = &app_;
    std::string path = "millrace";
    bool wants_help = false;
    for (size_t i = 0; i < arguments.size() && !verbs_of(*at).empty(); ++i) {
      const std::string& word = arguments[i];
      if (word.starts_with('-')) {
        wants_help = wants_help || word == "--help" || word == "-h" || word == "--version";
        const CLI::Option* const option = app_.get_option_no_throw(word);
        if (option != nullptr && option->get_expected_min() > 0) ++i;  // its value
        continue;
      }
      const auto found =
          at->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
      if (found.empty()) {
        return fmt::format("{} is not a command of `{}`{}; there are {}", in_quotes(word), path,
                           did_you_mean(word, verbs_of(*at)), fmt::join(verbs_of(*at), ", "));
      }
      path += " " + word;
      at = found.front();
    }
    if (wants_help || verbs_of(*at).empty()) return std::nullopt;
    return fmt::format("`{}` needs a command; there are {}", path, fmt::join(verbs_of(*at), ", "));
  }

  static std::vector<std::string_view> verbs_of(const CLI::App& app) {
    std::vector<std::string_view> names;
    for (const CLI::App* one : app.get_subcommands(nullptr)) names.push_back(one->get_name());
    return names;
  }

  /// A flag, else the first of the variables that is set, else the default.
  std::string setting(const std::string& flag, std::initializer_list<const char*> variables,
                      const std::string& otherwise) const {
    if (!flag.empty()) return flag;
    for (const char* variable : variables) {
      if (auto value = console_.env(variable); value && !value->empty()) return *value;
    }
    return otherwise;
  }

  /// What the client shows: of a file that was named, else of the variables; empty: nothing.
  Fallible<std::string> token() const {
    const auto wrong = [](const Error& error) {
      return give_up(ExitCode::kUsage, error.code, error.message);
    };
    const auto variable = console_.env("MILLRACE_TOKEN");
    if (token_file_.empty() && variable && !variable->empty()) {
      if (const Status checked = check_token(*variable, "MILLRACE_TOKEN"); !checked) {
        return wrong(checked.error());
      }
      return *variable;
    }
    const std::string file = setting(token_file_, {"MILLRACE_TOKEN_FILE"}, "");
    if (file.empty()) return std::string();
    Result<std::string> token = read_token_file(file);
    if (!token) return wrong(token.error());
    return *std::move(token);
  }

  Fallible<Duration> duration(const std::string& flag, const std::string& name,
                              std::initializer_list<const char*> variables,
                              const std::string& otherwise) const {
    const std::string text = setting(flag, variables, otherwise);
    const Result<Span> span = Span::parse(text);
    if (span && !span->is_zero() && span->months == 0) return span->fixed;
    return wrong_usage("--" + name + ": \"" + text + "\" is no such duration");
  }

  /// A whole number of one or more, or of KiB, MiB, GiB or TiB.
  Fallible<uint64_t> number(const std::string& flag, const std::string& name,
                            std::initializer_list<const char*> variables,
                            const std::string& otherwise) const {
    const std::string text = setting(flag, variables, otherwise);
    uint64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
    constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
    const auto* const known = std::find(std::begin(kUnits), std::end(kUnits), unit);
    const auto shift = static_cast<unsigned>(10 * (known - std::begin(kUnits)));
    if (failed == std::errc() && number > 0 && known != std::end(kUnits) &&
        number <= std::numeric_limits<uint64_t>::max() >> shift) {
      return number << shift;
    }
    return wrong_usage("--" + name + ": \"" + text + "\" is no such number; write one like 10GiB");
  }

  int end(const Ended& ended) {
    if (ended) return static_cast<int>(*ended);
    const Failure& failure = ended.error();
    console_.err << "millrace: " << failure.error.message << "\n";
    if (failure.errors.is_array()) console_.err << render_findings(failure.errors, "");
    if (failure.code == ExitCode::kUsage && failure.error.code == "cli.usage") {
      console_.err << "`--help` behind any verb says how it is used\n";
    }
    return static_cast<int>(failure.code);
  }

  void add_server() {
    if (hooks_.serve != nullptr) {
      CLI::App& serve = verb(
          app_, "serve", "Runs the server on a NATS server that there is",
          "millrace serve --data /var/lib/millrace --nats nats://127.0.0.1:4222",
          [this]() -> Ended {
            const ServeOptions defaults;
            serve_.data = setting(serve_.data, {"MILLRACE_DATA"}, "");
            serve_.listen = setting(serve_.listen, {"MILLRACE_LISTEN"}, defaults.listen);
            serve_.nats = setting(serve_.nats, {"MILLRACE_NATS", "NATS_URL"}, defaults.nats);
            serve_.user = setting("", {"NATS_USER"}, "");
            serve_.password = setting("", {"NATS_PASSWORD"}, "");
            serve_.creds = setting("", {"NATS_CREDS"}, "");
            serve_.nkey = setting("", {"NATS_NKEY"}, "");
            serve_.ca = setting("", {"NATS_CA"}, "");
            serve_.cert = setting("", {"NATS_CERT"}, "");
            serve_.key = setting("", {"NATS_KEY"}, "");
            if (serve_.data.empty()) {
              return wrong_usage("--data (or MILLRACE_DATA) is needed");
            }
            serve_.token_file = setting(token_file_, {"MILLRACE_TOKEN_FILE"}, "");
            serve_.secret_key_file =
                setting(serve_.secret_key_file, {"MILLRACE_SECRET_KEY_FILE"}, "");
            serve_.container_runtime =
                setting(serve_.container_runtime, {"MILLRACE_CONTAINER_RUNTIME"}, "");
            serve_.task_timeout = TRY(
                duration(bounds_.task_timeout, "task-timeout", {"MILLRACE_TASK_TIMEOUT"}, "10s"));
            serve_.dedupe_window = TRY(duration(bounds_.dedupe_window, "dedupe-window",
                                                {"MILLRACE_DEDUPE_WINDOW"}, "10m"));
            serve_.dedupe_events = TRY(number(bounds_.dedupe_events, "dedupe-events",
                                              {"MILLRACE_DEDUPE_EVENTS"}, "4000000"));
            serve_.store_limit =
                TRY(number(bounds_.store_limit, "store-limit", {"MILLRACE_STORE_LIMIT"}, "1TiB"));
            serve_.checkpoint_bytes = TRY(number(bounds_.checkpoint_bytes, "checkpoint-bytes",
                                                 {"MILLRACE_CHECKPOINT_BYTES"}, "16MiB"));
            TRY(read_stream_options());
            return static_cast<ExitCode>(hooks_.serve(serve_));
          });
      serve_ = {.data = "", .listen = "", .nats = ""};
      serve.add_option("--data", serve_.data, "Folder of the data (MILLRACE_DATA)")
          ->type_name("DIR");
      serve
          .add_option("--listen", serve_.listen,
                      "Where HTTP is answered (MILLRACE_LISTEN; 127.0.0.1:8780)")
          ->type_name("ADDR");
      serve
          .add_option(
              "--nats", serve_.nats,
              "The NATS server (MILLRACE_NATS, NATS_URL; nats://127.0.0.1:4222); NATS_USER, "
              "NATS_PASSWORD, NATS_CREDS, NATS_NKEY, NATS_CA, NATS_CERT and NATS_KEY are "
              "read too")
          ->type_name("URL");
      add_token_file(serve);
      serve
          .add_option("--secret-key-file", serve_.secret_key_file,
                      "The key that secrets are sealed with (MILLRACE_SECRET_KEY_FILE; one that is "
                      "made in the folder of the data)")
          ->type_name("FILE");
      serve
          .add_option("--container-runtime", serve_.container_runtime,
                      "What runs containers (MILLRACE_CONTAINER_RUNTIME; podman or docker, "
                      "whichever is found)")
          ->type_name("PROGRAM");
      serve
          .add_option("--task-timeout", bounds_.task_timeout,
                      "Bound on evaluating one state (MILLRACE_TASK_TIMEOUT; 10s)")
          ->type_name("DURATION");
      serve
          .add_option("--dedupe-window", bounds_.dedupe_window,
                      "How long an event is known again (MILLRACE_DEDUPE_WINDOW; 10m)")
          ->type_name("DURATION");
      serve
          .add_option("--dedupe-events", bounds_.dedupe_events,
                      "How many events are, at most (MILLRACE_DEDUPE_EVENTS; 4000000)")
          ->type_name("NUMBER");
      serve
          .add_option("--store-limit", bounds_.store_limit,
                      "How much the store may hold before new work is refused "
                      "(MILLRACE_STORE_LIMIT; 1TiB)")
          ->type_name("BYTES|MiB|GiB|TiB");
      serve
          .add_option("--checkpoint-bytes", bounds_.checkpoint_bytes,
                      "How much is held in memory and in the journal before it goes into LMDB "
                      "(MILLRACE_CHECKPOINT_BYTES; 16MiB)")
          ->type_name("BYTES|MiB|GiB|TiB");
    }
    if (hooks_.serve != nullptr) add_stream_options(*app_.get_subcommand("serve"));
    if (hooks_.dev != nullptr) {
      CLI::App& dev =
          verb(app_, "dev", "Runs a server to try things out, with a NATS server of its own",
               "millrace dev examples/", [this]() -> Ended {
                 dev_.listen = setting(dev_.listen, {"MILLRACE_LISTEN"}, DevOptions().listen);
                 dev_.token_file = setting(token_file_, {"MILLRACE_TOKEN_FILE"}, "");
                 if (!nats_port_.empty()) {
                   const uint64_t port = TRY(number(nats_port_, "nats-port", {}, ""));
                   if (port > std::numeric_limits<uint16_t>::max()) {
                     return wrong_usage("--nats-port: " + nats_port_ + " is not a port");
                   }
                   dev_.nats_port = static_cast<uint16_t>(port);
                 }
                 return static_cast<ExitCode>(hooks_.dev(dev_));
               });
      dev_.listen = "";
      dev.add_option("dir", dev_.folder, "Folder of workflows, loaded again when they change")
          ->type_name("DIR");
      dev.add_option("--keep", dev_.keep, "Keep the data in this folder")->type_name("DATA");
      dev.add_option("--listen", dev_.listen, "Where HTTP is answered (127.0.0.1:8780)")
          ->type_name("ADDR");
      dev.add_option("--nats-port", nats_port_,
                     "Where its NATS server listens (4222 if it is free, else any)")
          ->type_name("PORT");
      add_token_file(dev);
    }
  }

  /// The streams whose limits can be set: as flags and variables name them.
  struct LimitedStream {
    const char* flag;      ///< `--FLAG-max-age`
    const char* variable;  ///< `MILLRACE_VARIABLE_MAX_AGE`
    const char* holds;
    StreamLimits StreamOptions::*limits;
  };
  static constexpr LimitedStream kLimitedStreams[] = {
      {"events", "EVENTS", "events", &StreamOptions::events},
      {"dlq", "DLQ", "dead letters", &StreamOptions::dead_letters},
      {"lifecycle", "LIFECYCLE", "lifecycle events", &StreamOptions::lifecycle},
      {"tasks", "TASKS", "tasks", &StreamOptions::tasks},
      {"results", "RESULTS", "answers to tasks", &StreamOptions::results},
  };

  void add_stream_options(CLI::App& serve) {
    const auto add = [&](const std::string& name, std::string& text, const std::string& what,
                         const std::string& type) {
      serve.add_option(name, text, what)->type_name(type);
    };
    add("--stream-prefix", streams_.prefix,
        "What streams and subjects begin with, so that several millraces can share a NATS account "
        "(MILLRACE_STREAM_PREFIX; millrace)",
        "NAME");
    add("--stream-replicas", streams_.replicas,
        "How many servers of a cluster keep each stream that is made (MILLRACE_STREAM_REPLICAS; 1)",
        "NUMBER");
    add("--stream-cluster", streams_.cluster,
        "The cluster that streams are made in (MILLRACE_STREAM_CLUSTER)", "NAME");
    add("--stream-tags", streams_.tags,
        "Tags, with commas between, of the servers that streams are made on (MILLRACE_STREAM_TAGS)",
        "TAGS");
    serve.add_flag("--take-over", serve_.take_over,
                   "Takes the streams from the millrace that owns them, though it is at work");
    add("--js-domain", serve_.js_domain, "The domain of JetStream (MILLRACE_JS_DOMAIN)", "NAME");
    for (size_t i = 0; i < std::size(kLimitedStreams); ++i) {
      const LimitedStream& stream = kLimitedStreams[i];
      add(fmt::format("--{}-max-age", stream.flag), streams_.limits[i].max_age,
          fmt::format("How long the stream of {} keeps a message, where it is made "
                      "(MILLRACE_{}_MAX_AGE)",
                      stream.holds, stream.variable),
          "DURATION");
      add(fmt::format("--{}-max-bytes", stream.flag), streams_.limits[i].max_bytes,
          fmt::format("How much the stream of {} keeps, where it is made "
                      "(MILLRACE_{}_MAX_BYTES; no bound)",
                      stream.holds, stream.variable),
          "BYTES|MiB|GiB|TiB");
    }
  }

  Fallible<void> read_stream_options() {
    StreamOptions& to = serve_.streams;
    serve_.js_domain = setting(serve_.js_domain, {"MILLRACE_JS_DOMAIN"}, "");
    to.prefix = setting(streams_.prefix, {"MILLRACE_STREAM_PREFIX"}, to.prefix);
    to.replicas = static_cast<int>(std::min<uint64_t>(
        TRY(number(streams_.replicas, "stream-replicas", {"MILLRACE_STREAM_REPLICAS"}, "1")),
        std::numeric_limits<int>::max()));
    to.cluster = setting(streams_.cluster, {"MILLRACE_STREAM_CLUSTER"}, "");
    std::istringstream tags(setting(streams_.tags, {"MILLRACE_STREAM_TAGS"}, ""));
    for (std::string tag; std::getline(tags, tag, ',');) {
      if (!tag.empty()) to.tags.push_back(tag);
    }
    for (size_t i = 0; i < std::size(kLimitedStreams); ++i) {
      const LimitedStream& stream = kLimitedStreams[i];
      StreamLimits& limits = to.*stream.limits;
      const auto given = [&](const std::string& flag, const char* what) {
        return setting(flag, {fmt::format("MILLRACE_{}_{}", stream.variable, what).c_str()}, "");
      };
      if (const std::string age = given(streams_.limits[i].max_age, "MAX_AGE"); !age.empty()) {
        limits.max_age = TRY(duration(age, fmt::format("{}-max-age", stream.flag), {}, ""));
      }
      if (const std::string most = given(streams_.limits[i].max_bytes, "MAX_BYTES");
          !most.empty()) {
        limits.max_bytes = TRY(number(most, fmt::format("{}-max-bytes", stream.flag), {}, ""));
      }
    }
    return {};
  }

  /// Over the one of all verbs, which is the client's.
  void add_token_file(CLI::App& server) {
    server
        .add_option("--token-file", token_file_,
                    "The file with the token that callers have to show (MILLRACE_TOKEN_FILE); "
                    "without one only this machine is listened to")
        ->type_name("FILE");
  }

  void add_language() {
    CLI::App& explain = verb(app_, "explain", "Says what a key of the definition language means",
                             "millrace explain consumeEvent\n  "
                             "millrace explain states.action.retries.delay",
                             [this] { return explain_key(console_, id_); });
    explain.add_option("key", id_, "A key, a path of keys, a state type or a mapping")
        ->required()
        ->type_name("KEY");
    verb(app_, "schema", "Prints a JSON Schema of definitions, for editors",
         "millrace schema > millrace.schema.json", [this] { return print_schema(console_); });
  }

  void add_authoring() {
    if (hooks_.load != nullptr) add_lint();
    if (hooks_.test != nullptr) add_test();
  }

  void add_lint() {
    CLI::App& lint = verb(app_, "lint", "Says all that is wrong with definitions, without a server",
                          "millrace lint order.yaml payment.yaml\n  millrace lint workflows/",
                          [this]() -> Ended {
                            if (!format_.empty() && format_ != "text" && format_ != "json") {
                              return wrong_usage("lint -o: there are text and json");
                            }
                            lint_.as_json = format_ == "json";
                            return lint_files(console_, hooks_.load, lint_);
                          });
    lint.add_option("file", lint_.files,
                    "Definitions in YAML or JSON, or folders of them; - is standard input")
        ->required()
        ->type_name("FILE|DIR");
    lint.add_flag("--strict", lint_.strict, "Warnings count as errors do: exit 7");
    CLI::App& graph = verb(
        app_, "graph", "Draws a definition as a flowchart, in mermaid's language",
        "millrace graph order.yaml", [this] { return draw_graph(console_, hooks_.load, id_); });
    graph.add_option("file", id_, "A definition in YAML or JSON; - is standard input")
        ->required()
        ->type_name("FILE");
  }

  void add_test() {
    CLI::App& test = verb(app_, "test", "Plays the scenarios beside workflows, without a server",
                          "millrace test examples/\n  millrace test order.test.yaml -o junit",
                          [this]() -> Ended {
                            if (!format_.empty() && format_ != "text" && format_ != "junit") {
                              return wrong_usage("test -o: there are text and junit");
                            }
                            test_.as_junit = format_ == "junit";
                            return hooks_.test(console_, test_);
                          });
    test.add_option("path", test_.paths, "Scenario files (*.test.yaml), or folders that hold some")
        ->required()
        ->type_name("DIR|FILE");
    test.add_option("--only", test_.only, "Only scenarios with this in their name")
        ->type_name("TEXT");
  }

  void add_verify() {
    CLI::App& verify = asking(
        app_, "verify", "Checks every row of a store and says what does not fit; exit 1 if so",
        "millrace verify --data /var/lib/millrace", [this](Session& session) {
          verify_.data = setting(verify_.data, {"MILLRACE_DATA"}, "");
          verify_.secret_key_file =
              setting(verify_.secret_key_file, {"MILLRACE_SECRET_KEY_FILE"}, "");
          return hooks_.verify(session, verify_);
        });
    verify
        .add_option("--data", verify_.data,
                    "Folder of the data (MILLRACE_DATA); where it is in use, or none is named, the "
                    "server is asked")
        ->type_name("DIR");
    verify
        .add_option("--secret-key-file", verify_.secret_key_file,
                    "The key that secrets are sealed with (MILLRACE_SECRET_KEY_FILE; the one in "
                    "the folder)")
        ->type_name("FILE");
  }

  void add_workflow() {
    CLI::App& workflow = noun(app_, "workflow", "Definitions that the server runs");
    CLI::App& apply = asking(workflow, "apply", "Stores definitions, each as a new revision",
                             "millrace workflow apply order.yaml\n  "
                             "millrace workflow apply workflows/",
                             [this](Session& session) { return apply_workflows(session, apply_); });
    apply
        .add_option("file", apply_.files,
                    "Definitions in YAML or JSON, or folders of them; - is standard input")
        ->required()
        ->type_name("FILE|DIR");
    apply.add_flag("--dry-run", apply_.dry_run, "Check only");
    asking(workflow, "list", "Lists the workflows", "millrace workflow list -o name",
           list_workflows);
    CLI::App& get = asking(workflow, "get", "Shows a workflow and its definition",
                           "millrace workflow get order",
                           [this](Session& session) { return get_workflow(session, id_); });
    add_id(get, "Id of the workflow");
    CLI::App& remove = asking(
        workflow, "delete", "Deletes a workflow", "millrace workflow delete order --cancel",
        [this](Session& session) { return delete_workflow(session, id_, cancel_, leftovers_); });
    add_id(remove, "Id of the workflow");
    add_cancel(remove);
    add_leftovers(remove);
    add_pauses(workflow, "all instances of a workflow", "order", "Id of the workflow",
               control_workflow);
  }

  void add_instance() {
    CLI::App& instance = noun(app_, "instance", "Runs of workflows");
    CLI::App& list = asking(instance, "list", "Lists instances, the newest first",
                            "millrace instance list --status failed --since 2h",
                            [this](Session& session) { return list_instances(session, list_); });
    list.add_option("--workflow", list_.workflow, "Only of this workflow")->type_name("ID");
    list.add_option("--status", list_.status,
                    "Only pending, running, waiting, paused, complete, failed, cancelled or "
                    "timedout ones")
        ->type_name("STATUS");
    list.add_option("--since", list_.since, "Only those started since: 2h, or a moment")
        ->type_name("WHEN");
    add_page(list, list_.page);
    CLI::App& get = asking(instance, "get", "Shows an instance with its data",
                           "millrace instance get 0190b5a4-7c1e-7f2a-8000-0123456789ab -o yaml",
                           [this](Session& session) { return get_instance(session, id_); });
    add_id(get, "Id of the instance");
    CLI::App& history = asking(instance, "history", "Shows what happened to an instance",
                               "millrace instance history 0190b5a4-7c1e-7f2a-8000-0123456789ab",
                               [this](Session& session) { return show_history(session, id_); });
    add_id(history, "Id of the instance");
    CLI::App& cancel = controlling(instance, "cancel", "Ends instances, as cancelled");
    cancel.add_flag("--now", control_.now, "Do not wait for the end of the tasks that run");
    controlling(instance, "pause", "Has instances do nothing new");
    controlling(instance, "resume", "Has paused instances go on");
    CLI::App& retry = controlling(instance, "retry", "Tries the failed state of instances again");
    retry.add_flag("--extend", control_.extend, "Have the execution's deadline count anew");
    controlling(instance, "restart", "Runs ended instances anew, from their first state");
    CLI::App& rerun = controlling(instance, "rerun", "Runs ended instances anew, from a state");
    rerun.add_option("--from", control_.from, "The state")->type_name("STATE")->required();
    CLI::App& remove =
        asking(instance, "delete", "Removes an ended instance and its history",
               "millrace instance delete 0190b5a4-7c1e-7f2a-8000-0123456789ab",
               [this](Session& session) { return delete_instance(session, id_, damaged_); });
    add_id(remove, "Id of the instance");
    remove.add_flag("--damaged", damaged_, "Also one that has damaged rows, living or ended");
  }

  /// A verb for one instance, or for all that a filter names.
  CLI::App& controlling(CLI::App& instance, const std::string& name, const std::string& what) {
    CLI::App& added = asking(
        instance, name, what,
        fmt::format("millrace instance {} --workflow order --since 2h{}", name,
                    name == "rerun" ? " --from pay" : ""),
        [this, name](Session& session) { return control_instances(session, name, control_); });
    added.add_option("id", control_.id, "Id of the instance; or the filter below");
    added.add_option("--workflow", control_.filter.workflow, "Those of this workflow")
        ->type_name("ID");
    added
        .add_option("--status", control_.filter.status,
                    "Those of this status (default: each in which the verb can be done)")
        ->type_name("STATUS");
    added.add_option("--since", control_.filter.since, "Those started since: 2h, or a moment")
        ->type_name("WHEN");
    added.add_flag("--all", control_.all, "All of the namespace");
    return added;
  }

  /// pause and resume of what has an id.
  template <class Control>
  void add_pauses(CLI::App& noun, const std::string& of, const std::string& example,
                  const std::string& id, Control control) {
    for (const std::string name : {"pause", "resume"}) {
      CLI::App& added =
          asking(noun, name, (name == "pause" ? "Holds " : "Lets go on ") + of,
                 fmt::format("millrace {} {} {}", noun.get_name(), name, example),
                 [this, name, control](Session& session) { return control(session, name, id_); });
      add_id(added, id);
    }
  }

  void add_function() {
    CLI::App& function = noun(app_, "function", "Services that do work outside");
    add_pauses(function, "the calls of a service", "charge", "Name of the service",
               control_function);
  }

  void add_schedule() {
    CLI::App& schedule = noun(app_, "schedule", "Workflows that are started by the clock");
    asking(schedule, "list", "Lists the schedules with their next and last ticks",
           "millrace schedule list", list_schedules);
    CLI::App& next =
        asking(schedule, "next", "Shows the next five ticks", "millrace schedule next report",
               [this](Session& session) { return show_next_ticks(session, id_); });
    add_id(next, "Id of the workflow");
    CLI::App& trigger = asking(schedule, "trigger", "Starts an instance now, as a tick would",
                               "millrace schedule trigger report",
                               [this](Session& session) { return trigger_schedule(session, id_); });
    add_id(trigger, "Id of the workflow");
  }

  void add_event() {
    CLI::App& event = noun(app_, "event", "CloudEvents");
    CLI::App& send =
        asking(event, "send", "Publishes a CloudEvent into the namespace",
               "millrace event send --type order.placed --source shop --data '{\"id\":7}'\n  "
               "millrace event send -f event.json",
               [this](Session& session) { return send_event(session, send_); });
    send.add_option("--type", send_.type, "Attribute type");
    send.add_option("--source", send_.source, "Attribute source");
    send.add_option("--id", send_.id, "Attribute id (default: a fresh UUID)");
    send.add_option("--subject", send_.subject, "Attribute subject");
    send.add_option("--data", send_.data, "The data")->type_name("JSON|@FILE|-");
    send.add_option("--attr", send_.attributes, "Another attribute; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    send.add_option("-f,--file", send_.file,
                    "Instead of all these: a whole CloudEvent in JSON, or an array of them")
        ->type_name("FILE|-");
  }

  void add_lists() {
    CLI::App& listener = noun(app_, "listener", "Who listens for which events");
    CLI::App& listeners =
        asking(listener, "list", "Lists the starts and instances that wait for events",
               "millrace listener list",
               [this](Session& session) { return list_listeners(session, list_.page); });
    add_page(listeners, list_.page);
    CLI::App& group = noun(app_, "group", "Groups of events that are not complete");
    CLI::App& groups = asking(
        group, "list",
        "Lists the groups of eventsAnd starts that wait for more events, and when they expire",
        "millrace group list",
        [this](Session& session) { return list_groups(session, list_.page); });
    add_page(groups, list_.page);
    CLI::App& dlq = noun(app_, "dlq", "What could not be used");
    CLI::App& letters =
        asking(dlq, "list", "Lists what was set aside, and why", "millrace dlq list",
               [this](Session& session) { return list_dead_letters(session, list_.page); });
    add_page(letters, list_.page);
  }

  void add_variable() {
    CLI::App& variable = noun(app_, "variable", "Values that workflows keep");
    CLI::App& get = asking(variable, "get", "Writes a variable's bytes, as they are",
                           "millrace variable get limits > limits.json",
                           [this](Session& session) { return get_variable(session, variable_); });
    add_variable_key(get);
    CLI::App& set = asking(variable, "set", "Sets a variable",
                           "millrace variable set hits 0 --workflow counter\n  "
                           "millrace variable set logo @logo.png --type image/png",
                           [this](Session& session) { return set_variable(session, variable_); });
    add_variable_key(set);
    set.add_option("value", variable_.value, "The value (default: standard input)")
        ->type_name("JSON|@FILE|-");
    set.add_option("--type", variable_.content_type,
                   "Its content type (default: application/json, or application/octet-stream for "
                   "what is no JSON)");
    CLI::App& list = asking(variable, "list", "Lists variables, without their values",
                            "millrace variable list --workflow counter", [this](Session& session) {
                              return list_variables(session, variable_, list_.page);
                            });
    add_variable_owner(list);
    add_page(list, list_.page);
    CLI::App& remove =
        asking(variable, "delete", "Deletes a variable", "millrace variable delete limits",
               [this](Session& session) { return delete_variable(session, variable_); });
    add_variable_key(remove);
  }

  void add_secret() {
    CLI::App& secret = noun(app_, "secret", "What actions may know and nobody else is told");
    CLI::App& set = asking(secret, "set", "Sets a secret to what standard input says",
                           "millrace secret set api-token < token.txt",
                           [this](Session& session) { return set_secret(session, id_); });
    add_id(set, "Name of the secret");
    CLI::App& list =
        asking(secret, "list", "Lists the names of the secrets", "millrace secret list",
               [this](Session& session) { return list_secrets(session, list_.page); });
    add_page(list, list_.page);
    CLI::App& remove =
        asking(secret, "delete", "Deletes a secret", "millrace secret delete api-token",
               [this](Session& session) { return delete_secret(session, id_); });
    add_id(remove, "Name of the secret");
  }

  void add_namespace() {
    CLI::App& space = noun(app_, "namespace", "Namespaces: workflows and events kept apart");
    asking(space, "list", "Lists the namespaces", "millrace namespace list", list_namespaces);
    CLI::App& create =
        asking(space, "create", "Creates a namespace, or changes its settings",
               "millrace namespace create shop --settings @shop.json",
               [this](Session& session) { return create_namespace(session, id_, settings_); });
    add_id(create, "Name of the namespace");
    create.add_option("--settings", settings_, "Its settings (docs/functions.md)")
        ->type_name("JSON|@FILE|-");
    CLI::App& remove = asking(space, "delete", "Deletes a namespace and all that is in it",
                              "millrace namespace delete shop --cancel", [this](Session& session) {
                                return delete_namespace(session, id_, cancel_, leftovers_);
                              });
    add_id(remove, "Name of the namespace");
    add_cancel(remove);
    add_leftovers(remove);
  }

  void add_run() {
    CLI::App& run = asking(
        app_, "run", "Starts an instance of a workflow; with --wait shows what it came to",
        "millrace run order --input '{\"id\":7}' --wait 30s", [this](Session& session) -> Ended {
          run_.wait = wait_->count() > 0;
          if (run_.wait_for == "true") run_.wait_for = "";  // CLI11's word for no value
          // `run --wait order`: what follows --wait is taken for its value.
          if (run_.workflow.empty() && !Span::parse(run_.wait_for)) {
            std::swap(run_.workflow, run_.wait_for);
          }
          if (run_.workflow.empty()) return wrong_usage("which WORKFLOW?");
          return run_workflow(session, run_);
        });
    run.add_option("workflow", run_.workflow, "Id of the workflow")->type_name("WORKFLOW");
    run.add_option("--retry", run_.retry, "Retry policy of its runs, instead of the workflow's")
        ->type_name("JSON");
    run.add_option("--execution-timeout", run_.execution_timeout, "Of all its runs")
        ->type_name("TIME");
    run.add_option("--run-timeout", run_.run_timeout, "Of each run")->type_name("TIME");
    run.add_option("--task-timeout", run_.task_timeout, "Of evaluating one state")
        ->type_name("TIME");
    run.add_option("--input", run_.input, "The input (default: {})")->type_name("JSON|@FILE|-");
    wait_ = run.add_option("--wait", run_.wait_for,
                           "Wait for the end, at most that long; exit 9 if it failed, 8 if it has "
                           "not ended")
                ->expected(0, 1)
                ->type_name("[DURATION]");
    run.add_option("--id", run_.key, "Idempotency key: the same one never starts a second instance")
        ->type_name("KEY");
  }

  void add_id(CLI::App& verb, const std::string& what) {
    verb.add_option("id", id_, what)->required()->type_name("ID");
  }
  void add_variable_owner(CLI::App& verb) {
    CLI::Option* const workflow =
        verb.add_option("--workflow", variable_.workflow, "Of this workflow, not the namespace's");
    verb.add_option("--instance", variable_.instance, "Of this instance")
        ->type_name("ID")
        ->excludes(workflow);
    workflow->type_name("ID");
  }
  void add_variable_key(CLI::App& verb) {
    verb.add_option("key", variable_.key, "Key of the variable")->required()->type_name("KEY");
    add_variable_owner(verb);
  }
  void add_leftovers(CLI::App& verb) {
    verb.add_flag("--leftovers", leftovers_,
                  "Finish a deletion by an earlier release: give the number that `millrace verify` "
                  "shows instead of the name");
  }

  void add_cancel(CLI::App& verb) {
    verb.add_flag("--cancel", cancel_, "Cancel the instances that have not ended");
  }
  static void add_page(CLI::App& verb, PageOptions& page) {
    verb.add_option("--limit", page.limit, "At most N (a table: 50; other formats: all)")
        ->type_name("N");
    verb.add_option("--cursor", page.cursor, "Go on where a list before ended")->type_name("TEXT");
  }

  Console& console_;
  const ProgramVerbs& hooks_;
  CLI::App app_{"Event-driven workflows on NATS.", "millrace"};
  Do chosen_;

  std::string url_;
  std::string token_file_;
  std::string space_;
  std::string format_;
  std::string id_;
  ControlOptions control_;
  bool cancel_ = false;
  bool damaged_ = false;
  bool leftovers_ = false;
  std::string settings_;
  LintOptions lint_;
  ServeOptions serve_;
  /// As given, for duration() and number().
  struct {
    std::string task_timeout;
    std::string dedupe_window;
    std::string dedupe_events;
    std::string store_limit;
    std::string checkpoint_bytes;
  } bounds_;
  /// As given, for read_stream_options().
  struct {
    std::string prefix;
    std::string replicas;
    std::string cluster;
    std::string tags;
    struct {
      std::string max_age;
      std::string max_bytes;
    } limits[std::size(kLimitedStreams)];
  } streams_;
  DevOptions dev_;
  std::string nats_port_;
  TestOptions test_;
  VerifyOptions verify_;
  ApplyOptions apply_;
  InstanceListOptions list_;
  SendOptions send_;
  VariableOptions variable_;
  RunOptions run_;
  CLI::Option* wait_ = nullptr;
};

}  // namespace

int run_app(std::vector<std::string> arguments, Console& console, const ProgramVerbs& hooks) {
  return App(console, hooks).run(std::move(arguments));
}

}  // namespace millrace
