#include "tests/support/power_cut.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <string_view>
#include <utility>

#include "tests/support/file_faults.h"

namespace millrace {
namespace {

constexpr size_t kSector = 512;

void put(std::string& file, uint64_t at, std::string_view bytes) {
  if (file.size() < at + bytes.size()) file.resize(at + bytes.size(), '\0');
  std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<ptrdiff_t>(at));
}

}  // namespace

class PowerCuts::Disk final : public FileWatcher {
 public:
  Disk(std::filesystem::path folder, uint64_t seed) : folder_(std::move(folder)), random_(seed) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      files_[entry.path().filename()].synced.assign(std::istreambuf_iterator<char>(file), {});
    }
  }

  void wrote(const std::filesystem::path& path, uint64_t at, std::string_view bytes,
             bool is_synced) override {
    if (path.parent_path() != folder_) return;
    const std::lock_guard lock(mutex_);
    File& file = files_[path.filename()];
    if (is_synced) {
      put(file.synced, at, bytes);
    } else {
      file.writes.emplace_back(at, bytes);
    }
    maybe_cut();
  }

  void synced(const std::filesystem::path& path) override {
    if (path.parent_path() != folder_) return;
    const std::lock_guard lock(mutex_);
    maybe_cut();
    File& file = files_[path.filename()];
    for (const auto& [at, bytes] : file.writes) put(file.synced, at, bytes);
    file.writes.clear();
    maybe_cut();
  }

  void promise(uint64_t number) {
    const std::lock_guard lock(mutex_);
    promised_ = number;
  }

  std::vector<Cut> cuts() {
    const std::lock_guard lock(mutex_);
    return std::move(cuts_);
  }

 private:
  struct File {
    std::string synced;
    std::vector<std::pair<uint64_t, std::string>> writes;  ///< since the last sync
  };

  void maybe_cut() {
    constexpr uint64_t kOneIn = 4;
    if (random_() % kOneIn != 0) return;
    Cut cut{.promised = promised_};
    const uint64_t kept_of_four = random_() % 5;  // how many of four sectors survive: 0 to 4
    for (const auto& [name, file] : files_) {
      std::string content = file.synced;
      for (const auto& [at, bytes] : file.writes) {
        // Sectors start at multiples of their size.
        for (size_t done = 0; done < bytes.size();) {
          const size_t size =
              std::min<size_t>(kSector - (at + done) % kSector, bytes.size() - done);
          if (random_() % 4 < kept_of_four) {
            put(content, at + done, std::string_view(bytes).substr(done, size));
          }
          done += size;
        }
      }
      cut.files.emplace(name, std::move(content));
    }
    cuts_.push_back(std::move(cut));
  }

  std::filesystem::path folder_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, File> files_;
  uint64_t promised_ = 0;
  std::vector<Cut> cuts_;
};

void PowerCuts::Cut::write_to(const std::filesystem::path& folder) const {
  for (const auto& [name, content] : files) {
    if (name == "lock" || name == "lock.mdb") continue;
    std::ofstream(folder / name, std::ios::binary) << content;
  }
}

PowerCuts::PowerCuts(const std::filesystem::path& folder, uint64_t seed)
    : disk_(std::make_unique<Disk>(folder, seed)) {
  FileFaults::watch(disk_.get());
}

PowerCuts::~PowerCuts() { FileFaults::watch(nullptr); }

void PowerCuts::promise(uint64_t number) { disk_->promise(number); }

std::vector<PowerCuts::Cut> PowerCuts::stop() {
  FileFaults::watch(nullptr);
  return disk_->cuts();
}

}  // namespace millrace
