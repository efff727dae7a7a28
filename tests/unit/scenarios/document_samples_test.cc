// The YAML samples of documents are parts of files that tests run, and each workflow of these files
// has scenarios.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "scenarios/report.h"
#include "scenarios/suite.h"
#include "tests/unit/scenarios/texts.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Counts the YAML samples of a document that follow a link to a scenario file. Expects that the
/// file contains the sample.
size_t samples_in(const fs::path& document) {
  const std::string text = text_of(document);
  constexpr std::string_view kBegin = "```yaml\n";
  size_t samples = 0;
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const size_t begin = at + kBegin.size();
    const std::string sample = text.substr(begin, text.find("```", begin) - begin);
    const size_t link = text.rfind("](", at) + 2;
    const fs::path file = document.parent_path() / text.substr(link, text.find(')', link) - link);
    if (!is_scenario_file(file.filename().string())) continue;
    ++samples;
    EXPECT_NE(text_of(file).find(sample), std::string::npos) << file << " does not contain\n"
                                                             << sample;
  }
  return samples;
}

TEST(DocumentSamples, ArePartsOfTheScenarioFilesThatTheDocumentsLinkTo) {
  EXPECT_EQ(samples_in("docs/testing-workflows.md"), 7U);
  EXPECT_EQ(samples_in("README.md"), 1U);
}

/// Whether the lines of `piece` are consecutive lines of `text`.
bool has_lines(const std::string& text, const std::string& piece) {
  return ("\n" + text).find("\n" + piece) != std::string::npos;
}

TEST(DocumentSamples, InTheReadmeShowConsecutiveLinesOfTheGuestBookingExample) {
  const std::string page = text_of("README.md");
  constexpr std::string_view kBegin = "```yaml\n";
  const size_t begin = page.find(kBegin) + kBegin.size();
  const std::string sample = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_TRUE(has_lines(text_of("examples/guest-booking/guest-booking.yaml"), sample)) << sample;
}

/// Expects that each YAML sample of the page follows a comment that names its file, and is a part
/// of that file. Returns the names of the files.
std::set<std::string> files_of_samples(const std::string& name_of_page) {
  const std::string page = text_of(name_of_page);
  constexpr std::string_view kBegin = "```yaml\n";
  std::set<std::string> shown;
  for (size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1)) {
    const size_t begin = at + kBegin.size();
    const std::string sample = page.substr(begin, page.find("```", begin) - begin);
    const size_t comment = page.rfind("<!-- ", at);
    if (comment == std::string::npos || page.find("-->\n", comment) + 4 != at) {
      ADD_FAILURE() << name_of_page << ": no file is named above\n" << sample;
      continue;
    }
    const std::string name = page.substr(comment + 5, page.find(" -->", comment) - comment - 5);
    EXPECT_TRUE(has_lines(text_of("docs/" + name), sample)) << name << " does not contain\n"
                                                            << sample;
    shown.insert(name);
  }
  return shown;
}

TEST(DocumentSamples, ArePartsOfTheFilesThatThePagesName) {
  EXPECT_GE(files_of_samples("docs/language.md").size(), 20U);
  EXPECT_EQ(files_of_samples("docs/approval.md").size(), 3U);
}

TEST(DocumentSamples, ShowTheActualReportOfAFailedScenario) {
  const std::string document = text_of("docs/testing-workflows.md");
  const size_t begin = document.find("FAILED guest-booking.test.yaml");
  const std::string sample = document.substr(begin, document.find("      …", begin) - begin);

  const fs::path folder = "examples/guest-booking";
  std::string text = text_of(folder / "guest-booking.test.yaml");
  text.replace(text.find("room: \"204\"}}\n      published"), 11, "room: \"205\"");
  Findings findings;
  const ScenarioFile file =
      read_scenarios(text, {{"order.yaml", text_of(folder / "guest-booking.yaml")}}, findings);
  const Scenario& scenario = file.scenarios.at(0);
  Played played{scenario.name, scenario.at, play(scenario, file.workflows, nullptr)};
  played.outcome.real_time = Duration(15);
  const std::string report =
      render_text({.file = "guest-booking.test.yaml", .played = {std::move(played)}, .wrong = {}});
  EXPECT_TRUE(report.starts_with(sample)) << report;
}

class DocumentSamplesTest : public testing::TestWithParam<const char*> {};

TEST_P(DocumentSamplesTest, HasAScenarioFileForEachWorkflowOfTheFolder) {
  std::set<std::string> tested;
  const auto files = find_scenario_files(GetParam());
  ASSERT_TRUE(files);
  for (const fs::path& file : *files) {
    const LoadedSuite suite = load_suite(file, nullptr);
    ASSERT_TRUE(std::holds_alternative<ScenarioFile>(suite)) << file;
    for (const ApplyWorkflow& one : std::get<ScenarioFile>(suite).workflows) {
      tested.insert(one.workflow->id);
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(GetParam())) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".yaml") || is_scenario_file(name)) continue;
    const auto workflow = load_workflow(text_of(entry.path()), nullptr).workflow;
    ASSERT_NE(workflow, nullptr) << entry.path();
    EXPECT_TRUE(tested.contains(workflow->id)) << entry.path() << " has no scenarios";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DocumentSamplesTest,
                         testing::Values("examples", "docs/samples", "tests/corpus/direktiv"));

}  // namespace
}  // namespace millrace
