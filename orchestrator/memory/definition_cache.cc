#include "orchestrator/memory/definition_cache.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

Result<std::shared_ptr<const Workflow>> DefinitionCache::find_or_load(const View& view,
                                                                      Revision revision) {
  if (auto found = find(revision)) return found;
  // Loads outside the lock, so that no thread waits for another thread's load. If two threads load
  // the same definition at once, each thread gets its own copy, and the copy that is added later
  // stays in the cache.
  const auto record = TRY(read_definition(view, revision));
  if (!record) return tl::unexpected(damaged_definition(revision, "it is missing"));
  auto loaded = loader_(record->text);
  if (!loaded) {
    return tl::unexpected(
        damaged_definition(revision, fmt::format("it does not load: {}", loaded.error().message)));
  }
  add(revision, *loaded, record->text);
  return *std::move(loaded);
}

void DefinitionCache::add(Revision revision, std::shared_ptr<const Workflow> workflow,
                          std::string_view text) {
  const std::lock_guard guard(lock_);
  older_.erase(revision);
  if (const auto known = newer_.find(revision); known != newer_.end()) {
    newer_bytes_ -= known->second.bytes;
    newer_.erase(known);
  }
  put(revision, {.workflow = std::move(workflow), .bytes = text.size()});
}

std::shared_ptr<const Workflow> DefinitionCache::find(Revision revision) {
  const std::lock_guard guard(lock_);
  if (const auto found = newer_.find(revision); found != newer_.end()) {
    return found->second.workflow;
  }
  const auto found = older_.find(revision);
  if (found == older_.end()) return nullptr;
  Entry entry = std::move(found->second);
  older_.erase(found);
  std::shared_ptr<const Workflow> workflow = entry.workflow;
  put(revision, std::move(entry));
  return workflow;
}

void DefinitionCache::put(Revision revision, Entry entry) {
  if (!newer_.empty() && newer_bytes_ + entry.bytes > most_bytes_ / 2) {
    older_ = std::exchange(newer_, {});
    newer_bytes_ = 0;
  }
  newer_bytes_ += entry.bytes;
  newer_.emplace(revision, std::move(entry));
}

void DefinitionCache::forget_newer(WorkflowNumber workflow, uint32_t latest) {
  const std::lock_guard guard(lock_);
  const auto is_newer = [&](const auto& one) {
    return one.first.workflow == workflow && one.first.number > latest;
  };
  std::erase_if(older_, is_newer);
  std::erase_if(newer_, [&](const auto& one) {
    if (!is_newer(one)) return false;
    newer_bytes_ -= one.second.bytes;
    return true;
  });
}

size_t DefinitionCache::size() const {
  const std::lock_guard guard(lock_);
  return newer_.size() + older_.size();
}

}  // namespace millrace
