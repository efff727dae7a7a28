// A broker that requires TLS and a login. millrace reads both from the variables of the nats
// command line or from the URL, and never shows the password.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A self-signed certificate for 127.0.0.1, for a server and for a client.
class Certificate {
 public:
  Certificate() {
    const ProcessEnd made = run_process(
        {.command = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key(), "-out", file(),
                     "-days", "2", "-subj", "/CN=ann", "-addext", "subjectAltName=IP:127.0.0.1"}});
    CHECK(made.code == 0, "{}", made.errors);
  }

  std::string file() const { return (folder_.path() / "cert.pem").string(); }
  std::string key() const { return (folder_.path() / "key.pem").string(); }
  std::string configuration(std::string_view more = "") const {
    return fmt::format("tls {{ cert_file: \"{}\", key_file: \"{}\" {} }}\n", file(), key(), more);
  }

 private:
  Folder folder_;
};

constexpr const char* kLogin = "authorization { user: ann, password: open-sesame }\n";

std::string tls_url(const NatsServer& nats, std::string_view login = "") {
  return fmt::format("tls://{}127.0.0.1:{}", login, nats.port());
}

void expect_work(MillraceServer& millrace, std::string_view id) {
  millrace.start_ready();
  // A type of its own: a server with a new folder may also apply the events of servers before it.
  millrace.apply(
      fmt::format("id: counter\nstart: {{type: event, event: {{type: t{}}}}}\n"
                  "states: [{{id: done, type: noop}}]\n",
                  id));
  const std::string event =
      fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/s","type":"t{}"}})", id, id);
  const HttpReply reply =
      millrace.ask("POST", "events", event, {{"content-type", "application/cloudevents+json"}});
  EXPECT_EQ(reply.status, 202) << reply.body;
  EXPECT_TRUE(millrace.has_instances("workflow=counter&status=complete", 1));
  EXPECT_THAT(millrace.ask("GET", "/v1/info").body, Not(HasSubstr("open-sesame")));
  EXPECT_THAT(millrace.process().errors(), Not(HasSubstr("open-sesame")));
}

TEST(SecuredBroker, AcceptsAPasswordOverTls) {
  const Certificate certificate;
  const NatsServer nats(certificate.configuration() + kLogin);
  MillraceServer by_variables(
      tls_url(nats),
      {{"NATS_CA", certificate.file()}, {"NATS_USER", "ann"}, {"NATS_PASSWORD", "open-sesame"}});
  expect_work(by_variables, "1");
  by_variables.stop();

  MillraceServer by_url(tls_url(nats, "ann:open-sesame@"), {{"NATS_CA", certificate.file()}});
  expect_work(by_url, "2");
}

TEST(SecuredBroker, AcceptsAClientCertificate) {
  const Certificate certificate;
  const NatsServer nats(certificate.configuration(
      fmt::format(", ca_file: \"{}\", verify: true", certificate.file())));
  MillraceServer millrace(tls_url(nats), {{"NATS_CA", certificate.file()},
                                          {"NATS_CERT", certificate.file()},
                                          {"NATS_KEY", certificate.key()}});
  expect_work(millrace, "1");
}

/// Starts the server, and expects this text in `/readyz`, in the log and in `millrace status`.
void expect_not_ready(MillraceServer& millrace, const std::string& why) {
  millrace.start();
  const auto detail = [&] { return millrace.ask("GET", "/readyz").body; };
  EXPECT_TRUE(eventually([&] { return detail().find(why) != std::string::npos; })) << detail();
  EXPECT_EQ(millrace.ask("GET", "/readyz").status, 503);
  EXPECT_TRUE(eventually([&] {
    return millrace.process().errors().find(why) != std::string::npos;
  })) << millrace.process().errors();
  EXPECT_THAT(millrace.process().errors(), Not(HasSubstr("open-sesame")));
  // Each attempt to connect gives a reason, so the reason may change between two looks.
  EXPECT_TRUE(eventually([&] {
    const ProcessEnd status = millrace.cli({"status"});
    return status.code == 1 && status.errors.find(why) != std::string::npos;
  })) << millrace.cli({"status"}).errors;
  millrace.stop();
}

TEST(SecuredBroker, IsReportedWhenItRefusesTheLogin) {
  const NatsServer nats(kLogin);
  MillraceServer without_login(nats.url());
  expect_not_ready(without_login, "refused the login (Authorization Violation)");
  MillraceServer wrong(nats.url(), {{"NATS_USER", "ann"}, {"NATS_PASSWORD", "open-sesame2"}});
  expect_not_ready(wrong, "refused the login (Authorization Violation)");
}

TEST(SecuredBroker, IsReportedWhenItsCertificateIsNotTrusted) {
  const Certificate certificate;
  const Certificate other;
  const NatsServer nats(certificate.configuration());
  MillraceServer millrace(tls_url(nats), {{"NATS_CA", other.file()}});
  expect_not_ready(millrace, fmt::format("TLS with NATS at {} failed (", tls_url(nats)));
}

TEST(SecuredBroker, IsDistinguishedFromAnUnreachableBroker) {
  const HeldPort held;  // no server listens there
  const std::string url = fmt::format("nats://127.0.0.1:{}", held.port());
  MillraceServer unreachable(url);
  expect_not_ready(unreachable,
                   fmt::format("no NATS server can be reached at {} (Connection refused)", url));
  MillraceServer unknown("nats://no-such-host.invalid:4222");
  expect_not_ready(unknown, "of nats://no-such-host.invalid:4222 is unknown (");
}

TEST(SecuredBroker, IsReportedWithTheMissingPermission) {
  const NatsServer nats(R"(authorization { users: [{
    user: ann, password: open-sesame,
    permissions: {publish: ["millrace.>"], subscribe: ["_INBOX.>", "millrace.owner.*"]}
  }] }
)");
  MillraceServer millrace(nats.url(), {{"NATS_USER", "ann"}, {"NATS_PASSWORD", "open-sesame"}});
  millrace.launch();
  EXPECT_TRUE(eventually([&] {
    return millrace.process().errors().find(
               "Permissions Violation for Publish to \"$JS.API.STREAM.INFO.MILLRACE_OWNER\"") !=
           std::string::npos;
  })) << millrace.process().errors();
  millrace.stop();
}

}  // namespace
}  // namespace millrace
