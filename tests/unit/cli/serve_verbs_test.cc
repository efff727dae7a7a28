// The verbs `serve` and `dev`: flags override environment variables, and environment variables
// override defaults.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"

namespace millrace {
namespace {

class ServeVerbs : public CliTest {};

TEST_F(ServeVerbs, TakesTheSettingsOfAServerFromFlagsThenEnvironmentVariables) {
  EXPECT_EQ(run({"serve"}).code, 2) << "the data folder is missing";
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_EQ(served_.data, "d");
  EXPECT_EQ(served_.listen, "127.0.0.1:8780");
  EXPECT_EQ(served_.nats, "nats://127.0.0.1:4222");
  env_["NATS_URL"] = "nats://a:1";
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_EQ(served_.nats, "nats://a:1");
  env_["MILLRACE_NATS"] = "nats://b:1";
  env_["MILLRACE_LISTEN"] = "127.0.0.1:1";
  env_["MILLRACE_DATA"] = "e";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.data, "e");
  EXPECT_EQ(served_.nats, "nats://b:1");
  EXPECT_EQ(served_.listen, "127.0.0.1:1");
  EXPECT_EQ(served_.user, "");
  env_["NATS_USER"] = "ann";
  env_["NATS_CREDS"] = "ann.creds";
  EXPECT_EQ(run({"serve", "--nats", "nats://c:1", "--listen", "[::1]:0"}).code, 0);
  EXPECT_EQ(served_.nats, "nats://c:1");
  EXPECT_EQ(served_.user, "ann");
  EXPECT_EQ(served_.creds, "ann.creds");
  EXPECT_EQ(served_.listen, "[::1]:0");

  EXPECT_EQ(served_.bounds.task_timeout, Duration(10'000));
  EXPECT_EQ(run({"serve", "--task-timeout", "PT1.5S"}).code, 0);
  EXPECT_EQ(served_.bounds.task_timeout, Duration(1'500));
  EXPECT_EQ(run({"serve", "--task-timeout", "0s"}).code, 2);
  EXPECT_EQ(served_.bounds.call_timeout, std::chrono::minutes(10));
  EXPECT_EQ(run({"serve", "--call-timeout", "1h"}).code, 0);
  EXPECT_EQ(served_.bounds.call_timeout, std::chrono::hours(1));
  EXPECT_EQ(run({"serve", "--dedupe-window", "1h", "--dedupe-events", "5"}).code, 0);
  EXPECT_EQ(served_.bounds.dedupe_window, std::chrono::hours(1));
  EXPECT_EQ(served_.bounds.dedupe_events, 5U);
  EXPECT_EQ(served_.bounds.store_limit, uint64_t{1} << 40);
  EXPECT_EQ(served_.bounds.checkpoint_bytes, uint64_t{16} << 20);
  env_["MILLRACE_STORE_LIMIT"] = "10GiB";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.bounds.store_limit, uint64_t{10} << 30);
  for (const char* bad : {"0", "-1", "GiB", "10GB", "1.5GiB", "99999999999TiB", "10 GiB"}) {
    const auto result = run({"serve", "--store-limit", bad});
    EXPECT_EQ(result.code, 2) << bad;
    EXPECT_NE(result.err.find("--store-limit"), std::string::npos) << bad << result.err;
  }

  EXPECT_EQ(served_.bounds.http_memory, uint64_t{256} << 20);
  EXPECT_EQ(run({"serve", "--http-memory", "32MiB"}).code, 0);
  EXPECT_EQ(served_.bounds.http_memory, uint64_t{32} << 20);
  const auto too_little = run({"serve", "--http-memory", "31MiB"});
  EXPECT_EQ(too_little.code, 2);
  EXPECT_NE(too_little.err.find("--http-memory"), std::string::npos) << too_little.err;

  EXPECT_EQ(served_.token_file, "");
  EXPECT_EQ(run({"serve", "--token-file", "here"}).code, 0);
  EXPECT_EQ(served_.token_file, "here");
  env_["MILLRACE_TOKEN_FILE"] = "there";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.token_file, "there");

  EXPECT_EQ(run({"dev", "examples/", "--keep", "data"}).code, 1)
      << "the program ends with the exit code of the verb";
  EXPECT_EQ(developed_.folder, "examples/");
  EXPECT_EQ(developed_.keep, "data");
  EXPECT_EQ(developed_.listen, "127.0.0.1:1");
  EXPECT_EQ(developed_.token_file, "there");
}

TEST_F(ServeVerbs, TakesTheUrlAtWhichServicesReachTheServer) {
  env_["MILLRACE_DATA"] = "d";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.public_url, "");
  EXPECT_EQ(run({"serve", "--public-url", "https://m.example:8443/"}).code, 0);
  EXPECT_EQ(served_.public_url, "https://m.example:8443");
  env_["MILLRACE_PUBLIC_URL"] = "http://m";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.public_url, "http://m");
  for (const char* const bad :
       {"m:8780", "ftp://m", "http://m/path", "http://ann:secret@m", "http://m?a=b", "http://"}) {
    const CommandOutput wrong = run({"serve", "--public-url", bad});
    EXPECT_EQ(wrong.code, 2) << bad;
    EXPECT_NE(wrong.err.find("--public-url"), std::string::npos) << wrong.err;
    EXPECT_EQ(wrong.err.find("secret@"), std::string::npos) << wrong.err;
  }
}

TEST_F(ServeVerbs, KeepsSecretsInMemoryByDefault) {
  env_["MILLRACE_DATA"] = "d";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.memory_folder, "/dev/shm");
  EXPECT_FALSE(served_.core_dumps);
  EXPECT_EQ(run({"serve", "--memory-folder", "/run/m", "--core-dumps", "on"}).code, 0);
  EXPECT_EQ(served_.memory_folder, "/run/m");
  EXPECT_TRUE(served_.core_dumps);
  env_["MILLRACE_CORE_DUMPS"] = "off";
  env_["MILLRACE_MEMORY_FOLDER"] = "/run/n";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.memory_folder, "/run/n");
  EXPECT_FALSE(served_.core_dumps);
  const CommandOutput wrong = run({"serve", "--core-dumps", "yes"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--core-dumps"), std::string::npos) << wrong.err;
}

TEST_F(ServeVerbs, TakesTheSettingsOfTheStreamsFromFlagsThenEnvironmentVariables) {
  env_["MILLRACE_DATA"] = "d";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.streams.prefix, "millrace");
  EXPECT_EQ(served_.nats_inbox_prefix, "_INBOX");
  EXPECT_EQ(served_.streams.replicas, 1);
  EXPECT_EQ(served_.streams.events, StreamLimits());
  env_["MILLRACE_STREAM_PREFIX"] = "orders";
  env_["MILLRACE_STREAM_REPLICAS"] = "3";
  env_["MILLRACE_STREAM_TAGS"] = "ssd,east";
  env_["MILLRACE_JS_DOMAIN"] = "hub";
  env_["MILLRACE_NATS_INBOX_PREFIX"] = "_INBOX_orders";
  env_["MILLRACE_EVENTS_MAX_AGE"] = "2d";
  env_["MILLRACE_TASKS_MAX_BYTES"] = "1GiB";
  EXPECT_EQ(run({"serve", "--stream-cluster", "c1", "--results-max-age", "1h"}).code, 0);
  EXPECT_EQ(served_.streams.prefix, "orders");
  EXPECT_EQ(served_.streams.replicas, 3);
  EXPECT_EQ(served_.streams.cluster, "c1");
  EXPECT_EQ(served_.streams.tags, (std::vector<std::string>{"ssd", "east"}));
  EXPECT_EQ(served_.js_domain, "hub");
  EXPECT_EQ(served_.nats_inbox_prefix, "_INBOX_orders");
  EXPECT_EQ(served_.streams.events.max_age, Duration(std::chrono::hours(48)));
  EXPECT_EQ(served_.streams.tasks.max_bytes, uint64_t{1} << 30);
  EXPECT_EQ(served_.streams.results.max_age, Duration(std::chrono::hours(1)));
  EXPECT_EQ(run({"serve", "--events-max-age", "30m"}).code, 0);
  EXPECT_EQ(served_.streams.events.max_age, Duration(std::chrono::minutes(30)));
  const CommandOutput wrong = run({"serve", "--dlq-max-bytes", "much"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--dlq-max-bytes"), std::string::npos) << wrong.err;
}

TEST_F(ServeVerbs, TakesTheSettingsOfContainersFromFlagsThenEnvironmentVariables) {
  env_["MILLRACE_DATA"] = "d";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.containers.runtime, "");
  EXPECT_EQ(served_.containers.network, "");
  EXPECT_EQ(served_.containers.pool_network, "");
  EXPECT_EQ(served_.containers.options, std::vector<std::string>());
  EXPECT_EQ(served_.containers.folder, "");
  env_["MILLRACE_CONTAINER_RUNTIME"] = "docker";
  env_["MILLRACE_CONTAINER_NETWORK"] = "functions";
  env_["MILLRACE_CONTAINER_POOL_NETWORK"] = "pools";
  env_["MILLRACE_CONTAINER_OPTIONS"] = " --dns=192.0.2.1  --ipv6";
  env_["MILLRACE_CONTAINER_FOLDER"] = "/mnt/functions";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.containers.runtime, "docker");
  EXPECT_EQ(served_.containers.network, "functions");
  EXPECT_EQ(served_.containers.pool_network, "pools");
  EXPECT_EQ(served_.containers.options, (std::vector<std::string>{"--dns=192.0.2.1", "--ipv6"}));
  EXPECT_EQ(served_.containers.folder, "/mnt/functions");
  EXPECT_EQ(run({"serve", "--container-network", "none", "--container-pool-network", "default",
                 "--container-option=--env=A=b,c d", "--container-option=--ipv6",
                 "--container-folder", "/mnt/other"})
                .code,
            0);
  EXPECT_EQ(served_.containers.network, "none");
  EXPECT_EQ(served_.containers.pool_network, "default");
  EXPECT_EQ(served_.containers.options, (std::vector<std::string>{"--env=A=b,c d", "--ipv6"}));
  EXPECT_EQ(served_.containers.folder, "/mnt/other");
}

TEST_F(ServeVerbs, RefusesSettingsOfContainersThatTheRuntimeWouldMisread) {
  env_["MILLRACE_DATA"] = "d";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"--container-network", "-x"},      {"--container-network", "a b"},
      {"--container-pool-network", "-x"}, {"--container-pool-network", "a b"},
      {"--container-option", "alpine"},   {"--container-option", "--"},
      {"--container-option", "-v"},       {"--container-folder", "relative"},
      {"--container-folder", "/mnt/a,b"},
  };
  for (const auto& [flag, value] : wrong) {
    const CommandOutput result = run({"serve", flag + "=" + value});
    EXPECT_EQ(result.code, 2) << flag << " " << value;
    EXPECT_NE(result.err.find(flag), std::string::npos) << result.err;
  }
}

TEST_F(ServeVerbs, TakesTheSubjectsOfServicesFromAListOfPatterns) {
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_TRUE(served_.request_subjects.empty());
  env_["MILLRACE_REQUEST_SUBJECTS"] = "shop.>,stock.*";
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_EQ(served_.request_subjects, (std::vector<std::string>{"shop.>", "stock.*"}));
  const CommandOutput wrong = run({"serve", "--data", "d", "--request-subjects", "shop..x"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--request-subjects"), std::string::npos) << wrong.err;
}

TEST_F(ServeVerbs, TakesTheOriginsOfThePageBehindAProxy) {
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_TRUE(served_.origins.empty());
  env_["MILLRACE_ORIGIN"] = "https://ops.example,http://ops.example:8080";
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_EQ(served_.origins,
            (std::vector<std::string>{"https://ops.example", "http://ops.example:8080"}));
  for (const char* const wrong : {"ops.example", "https://", "https://ops.example/", "*", "null",
                                  "https://*.example", "https://a.example,,https://b.example"}) {
    const CommandOutput refused = run({"serve", "--data", "d", "--origin", wrong});
    EXPECT_EQ(refused.code, 2) << wrong;
    EXPECT_NE(refused.err.find("--origin"), std::string::npos) << refused.err;
  }
}

TEST_F(ServeVerbs, TakesTheSettingsOfANodeFromFlagsThenEnvironmentVariables) {
  env_["MILLRACE_DATA"] = "d";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.cluster.name, "");
  env_["MILLRACE_SECRET_KEY_FILE"] = "key";
  env_["MILLRACE_CLUSTER"] = "shop";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(served_.cluster.name, "shop");
  EXPECT_FALSE(served_.cluster.founds);
  EXPECT_EQ(served_.cluster.url, "http://127.0.0.1:8780");
  EXPECT_EQ(served_.cluster.takeover_after, Duration(2'000));
  EXPECT_EQ(served_.cluster.max_clock_offset, Duration(1'000));
  env_["MILLRACE_ADVERTISE"] = "http://db1:8780/";
  env_["MILLRACE_TAKEOVER_AFTER"] = "60s";
  env_["MILLRACE_MAX_CLOCK_OFFSET"] = "5s";
  EXPECT_EQ(run({"serve", "--cluster", "store", "--found"}).code, 0);
  EXPECT_EQ(served_.cluster.name, "store");
  EXPECT_TRUE(served_.cluster.founds);
  EXPECT_EQ(served_.cluster.url, "http://db1:8780");
  EXPECT_EQ(served_.cluster.takeover_after, Duration(60'000));
  EXPECT_EQ(served_.cluster.max_clock_offset, Duration(5'000));
  EXPECT_EQ(
      run({"serve", "--advertise", "https://[::1]:1", "--takeover-after", "PT0.5S",
           "--max-clock-offset", "2s", "--snapshot-after", "10MiB", "--broker-sync-interval", "1s"})
          .code,
      0);
  EXPECT_EQ(served_.cluster.snapshot_after, uint64_t{10} << 20);
  EXPECT_EQ(served_.cluster.broker_sync_interval, Duration(1'000));
  EXPECT_EQ(served_.cluster.url, "https://[::1]:1");
  EXPECT_EQ(served_.cluster.takeover_after, Duration(500));
  EXPECT_EQ(served_.cluster.max_clock_offset, Duration(2'000));
}

TEST_F(ServeVerbs, AdvertisesAnAddressThatOtherNodesReach) {
  env_["MILLRACE_DATA"] = "d";
  env_["MILLRACE_SECRET_KEY_FILE"] = "key";
  const std::pair<std::string, std::string> rows[] = {
      {"192.0.2.7:8780", "http://192.0.2.7:8780"},
      {"[::1]:9000", "http://[::1]:9000"},
      {"localhost:9000", "http://localhost:9000"},
      {":9000", "http://127.0.0.1:9000"},
  };
  for (const auto& [listen, url] : rows) {
    EXPECT_EQ(run({"serve", "--cluster", "shop", "--listen", listen}).code, 0) << listen;
    EXPECT_EQ(served_.cluster.url, url) << listen;
  }
  for (const char* const all : {"0.0.0.0:9000", "[::]:9000"}) {
    EXPECT_EQ(run({"serve", "--cluster", "shop", "--listen", all}).code, 0) << all;
    const std::string& url = served_.cluster.url;
    EXPECT_TRUE(url.starts_with("http://") && url.ends_with(":9000")) << url;
    EXPECT_EQ(url.find("0.0.0.0"), std::string::npos) << url;
    EXPECT_EQ(url.find("[::]"), std::string::npos) << url;
  }
}

TEST_F(ServeVerbs, RefusesSettingsOfANodeThatAreNotPossible) {
  env_["MILLRACE_DATA"] = "d";
  const CommandOutput without_key = run({"serve", "--cluster", "shop"});
  EXPECT_EQ(without_key.code, 2);
  EXPECT_NE(without_key.err.find("--secret-key-file"), std::string::npos) << without_key.err;
  env_["MILLRACE_SECRET_KEY_FILE"] = "key";
  const std::vector<std::string> lone[] = {{"--found"},
                                           {"--advertise", "http://db1:8780"},
                                           {"--takeover-after", "2s"},
                                           {"--max-clock-offset", "1s"},
                                           {"--snapshot-after", "1GiB"},
                                           {"--broker-sync-interval", "2m"}};
  for (std::vector<std::string> flag : lone) {
    const std::string name = flag.front();
    flag.insert(flag.begin(), "serve");
    const CommandOutput printed = run(flag);
    EXPECT_EQ(printed.code, 2) << name;
    EXPECT_TRUE(printed.err.starts_with("millrace: " + name + " is for a node of a cluster"))
        << printed.err;
  }
  env_["MILLRACE_CLUSTER"] = "shop";
  const std::pair<std::string, std::string> wrong[] = {
      {"--cluster", "my.shop"},
      {"--advertise", "db1:8780"},
      {"--advertise", "http://db1:8780/path"},
      {"--advertise", "http://ann:secret@db1:8780"},
      {"--advertise", "ftp://db1:8780"},
      {"--takeover-after", "499ms"},
      {"--takeover-after", "61s"},
      {"--takeover-after", "soon"},
      {"--takeover-after", "2000"},
      {"--max-clock-offset", "0s"},
      {"--snapshot-after", "0"},
      {"--broker-sync-interval", "often"},
      {"--listen", "127.0.0.1:0"},
  };
  for (const auto& [flag, value] : wrong) {
    const CommandOutput printed = run({"serve", flag, value});
    EXPECT_EQ(printed.code, 2) << flag << " " << value;
    EXPECT_NE(printed.err.find(flag), std::string::npos) << printed.err;
    EXPECT_EQ(printed.err.find("secret@"), std::string::npos) << printed.err;
  }
}

TEST_F(ServeVerbs, ReadsTheFlagNatsPortOfTheVerbDev) {
  run({"dev"});
  EXPECT_EQ(developed_.nats_port, 0);
  run({"dev", "--nats-port", "5222"});
  EXPECT_EQ(developed_.nats_port, 5222);
  for (const char* const bad : {"0", "70000", "x"}) {
    const CommandOutput wrong = run({"dev", "--nats-port", bad});
    EXPECT_EQ(wrong.code, 2) << bad;
    EXPECT_NE(wrong.err.find("--nats-port"), std::string::npos) << wrong.err;
  }
}

}  // namespace
}  // namespace millrace
