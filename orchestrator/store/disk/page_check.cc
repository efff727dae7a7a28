#include "orchestrator/store/disk/page_check.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/disk/page_file.h"
#include "orchestrator/store/disk/page_walk.h"

namespace millrace {

std::string to_string(const PageDamage& damage) {
  return fmt::format("page {} (tree {}): {}", damage.page, damage.tree, damage.found);
}

Result<PageCheck> PageCheck::open(const std::filesystem::path& file) {
  return PageCheck(TRY(PageFile::open(file)));
}

PageCheck::PageCheck(std::unique_ptr<PageFile> file) : file_(std::move(file)) {}
PageCheck::PageCheck(PageCheck&&) noexcept = default;
PageCheck::~PageCheck() = default;

PageReport PageCheck::run(const PageCheckOptions& options) {
  return PageWalk(*file_, options).run();
}

}  // namespace millrace
