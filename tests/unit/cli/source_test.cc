// Files, folders and standard input as arguments of verbs.
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class SourceTest : public CliTest {};

TEST_F(SourceTest, ReadsTheDefinitionsOfAFolder) {
  file("a.yaml", "id: a\nstates: []\n");
  file("sub/b.yaml", "id: b\nstates: []\n");
  const std::string broken = file("broken.yml", "id: broken\nstate: [\n");
  file("a.test.yaml", "scenarios: []\n");
  file("notes.txt", "states");
  file(".hidden/c.yaml", "id: c\nstates: []\n");
  const std::string payload = file("payload.json", R"({"id": 7, "amount": 3})");
  const std::string empty = file("empty.yaml", "");
  const std::string settings = file("settings.json", R"({"services": {"mail": {}}})");
  const std::string why = ": skipped: it is not a workflow, which has an \"id\" and \"states\"\n";
  const std::string skipped = empty + why + payload + why + settings +
                              ": skipped: it has settings of a namespace; set them with `millrace "
                              "namespace create NAMESPACE "
                              "--settings @" +
                              settings + "`\n";

  const CommandOutput lint = run({"lint", folder_.string()});
  EXPECT_EQ(lint.code, 7);
  EXPECT_TRUE(lint.out.starts_with(broken + ":2:7: error: ")) << lint.out;
  EXPECT_EQ(lint.err, skipped);

  const CommandOutput applied = run({"workflow", "apply", folder_.string(), "-o", "name"});
  EXPECT_EQ(applied.code, 7);
  EXPECT_EQ(applied.out, "a\nb\n");
  EXPECT_EQ(applied.err.substr(0, skipped.size()), skipped);
  EXPECT_NE(applied.err.find(broken + ":2:7: error: "), std::string::npos) << applied.err;

  const CommandOutput nothing = run({"lint", (folder_ / ".hidden" / "..").string() + "/none"});
  EXPECT_EQ(nothing.code, 2);
  std::filesystem::create_directory(folder_ / "void");
  const CommandOutput none = run({"workflow", "apply", (folder_ / "void").string()});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("no definition was found in " + (folder_ / "void").string()),
            std::string::npos)
      << none.err;
}

TEST_F(SourceTest, ReportsAMalformedYamlFileInAFolder) {
  file("a.yaml", "id: a\nstates: []\n");
  const std::string broken = file("broken.yaml", "# broken\nitems: [\n");
  for (const char* command : {"lint", "apply"}) {
    const CommandOutput printed = std::string_view(command) == "lint"
                                      ? run({"lint", folder_.string()})
                                      : run({"workflow", "apply", folder_.string()});
    EXPECT_EQ(printed.code, 7) << command;
    EXPECT_NE((printed.out + printed.err).find(broken + ":2:7: error: "), std::string::npos)
        << printed.out << printed.err;
  }
}

TEST_F(SourceTest, SkipsScenarioFilesAmongItsArguments) {
  const std::string order = file("order.yaml", "id: order\nstates: []\n");
  const std::string scenarios = file("order.test.yaml", "scenarios: []\n");
  const std::string skipped =
      scenarios + ": skipped: it holds scenarios, which `millrace test` runs\n";
  const CommandOutput lint = run({"lint", scenarios, order});
  EXPECT_EQ(lint.code, 0);
  EXPECT_EQ(lint.err, skipped);
  const CommandOutput applied = run({"workflow", "apply", scenarios, order, "-o", "name"});
  EXPECT_EQ(applied.code, 0);
  EXPECT_EQ(applied.out, "order\n");
  EXPECT_EQ(applied.err, skipped);
  EXPECT_EQ(run({"lint", scenarios}).code, 2) << "no definition is left";
  EXPECT_EQ(run({"graph", scenarios}).code, 2);
}

TEST_F(SourceTest, NamesTheFileThatItCannotRead) {
  apply_order();
  const std::string folder = folder_.string();
  const std::string link = (folder_ / "link.yaml").string();
  std::filesystem::create_symlink("nowhere", link);
  const std::vector<std::pair<std::string, std::string>> files = {
      {folder, folder + ": this is a directory; expected a file"},
      {folder + "/", folder + "/: this is a directory; expected a file"},
      {link, link + ": No such file or directory"},
      {"/dev/zero", "/dev/zero: expected at most 67108864 bytes"},
      {file("plain", "x") + "/below", "Not a directory"},
  };
  for (const auto& [name, reason] : files) {
    std::vector<std::vector<std::string>> verbs = {
        {"graph", name},
        {"event", "send", "-f", name},
        {"event", "send", "--type", "t", "--source", "s", "--data", "@" + name},
        {"run", "order", "--input", "@" + name},
        {"variable", "set", "a", "@" + name},
        {"namespace", "create", "shop", "--settings", "@" + name},
    };
    if (!name.starts_with(folder) || name == link) {
      verbs.push_back({"lint", name});
      verbs.push_back({"workflow", "apply", name});
    }
    if (name == "/dev/zero")
      verbs.resize(2);  // only two verbs are tried, because each reads 64 MiB of /dev/zero
    for (const auto& verb : verbs) {
      const CommandOutput printed = run(verb);
      EXPECT_EQ(printed.code, 2) << verb[0] << ' ' << name;
      EXPECT_NE(printed.err.find(reason), std::string::npos) << verb[0] << ": " << printed.err;
      EXPECT_EQ(printed.out, "") << verb[0] << ' ' << name;
    }
  }
  const CommandOutput in_folder = run({"lint", folder});
  EXPECT_EQ(in_folder.code, 2);
  EXPECT_NE(in_folder.err.find(link + ": No such file"), std::string::npos) << in_folder.err;
}

TEST_F(SourceTest, ReadsPipesAndEmptyFilesToTheirEnd) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "id: order\nbroken: 1\n"; });
  const CommandOutput lint = run({"lint", pipe});
  writer.join();
  EXPECT_EQ(lint.code, 7);
  EXPECT_TRUE(lint.out.starts_with(pipe + ":2:7: error: ")) << lint.out;
  apply_order();
  EXPECT_EQ(run({"run", "order", "--input", "@" + file("empty", "")}).code, 0);
  EXPECT_EQ(service_.starts().back().input, Json::object());
}

}  // namespace
}  // namespace millrace
