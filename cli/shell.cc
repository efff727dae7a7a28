#include "cli/shell.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/defaults.h"
#include "cli/output.h"
#include "cli/token_file.h"
#include "model/loopback_host.h"
#include "model/service_url.h"

namespace millrace {

std::string Shell::setting(const std::string& flag, std::initializer_list<const char*> variables,
                           const std::string& otherwise) const {
  if (!flag.empty()) return flag;
  for (const char* variable : variables) {
    if (auto value = console_.env(variable); value && !value->empty()) return *value;
  }
  return otherwise;
}

Fallible<std::string> Shell::token() const {
  const auto wrong = [](const Error& error) {
    return give_up(ExitCode::kUsage, error.code, error.message);
  };
  const auto variable = console_.env("MILLRACE_TOKEN");
  if (flags_.token_file.empty() && variable && !variable->empty()) {
    if (const Status checked = check_token(*variable, "MILLRACE_TOKEN"); !checked) {
      return wrong(checked.error());
    }
    return *variable;
  }
  const std::string file = setting(flags_.token_file, {"MILLRACE_TOKEN_FILE"});
  if (file.empty()) return std::string();
  Result<std::string> token = read_token_file(file);
  if (!token) return wrong(token.error());
  return *std::move(token);
}

Fallible<Session> Shell::session() {
  const Format format = TRY(parse_format(flags_.format, console_.out_is_terminal));
  std::string token = TRY(this->token());
  const std::string url = setting(flags_.url, {"MILLRACE_URL"}, defaults::server_url());
  if (!token.empty()) warn_of_plain_text(url);
  Session session{console_, Client(url, std::move(token)),
                  setting(flags_.ns, {"MILLRACE_NAMESPACE"}, "default"), Output(console_, format)};
  if (flags_.is_stale) session.client.accept_stale();
  return session;
}

void Shell::warn_of_plain_text(const std::string& url) {
  if (has_warned_ || !is_plain_to_other_machine(url)) return;
  has_warned_ = true;
  console_.err << fmt::format(
      "warning: the token is sent to {} in plain text, and gives full access; use an https URL of "
      "a proxy with TLS (--url, MILLRACE_URL)\n",
      harmless(shown_origin(url)));
}

void Shell::show_age(const Session& session) {
  const std::optional<double> seconds = session.client.age();
  if (!seconds) return;
  console_.err << fmt::format("answered by a node that is not the active: {:.1f} s old\n",
                              *seconds);
}

int Shell::end(const Ended& ended) {
  if (ended) return static_cast<int>(*ended);
  const Failure& failure = ended.error();
  console_.err << "millrace: " << harmless(failure.error.message, kLineEnds) << "\n";
  if (failure.errors.is_array()) console_.err << render_findings(failure.errors, "");
  if (failure.code == ExitCode::kUsage && failure.error.code == "cli.usage") {
    console_.err << "run `millrace COMMAND --help` for usage\n";
  }
  return static_cast<int>(failure.code);
}

}  // namespace millrace
