#include "orchestrator/backup/backup_head.h"

#include "orchestrator/backup/restored_file.h"

namespace millrace {

Result<BackupHead> make_backup_head(const Environment& environment, const Snapshot& view,
                                    TimePoint now, const std::string& release) {
  BackupHead head = TRY(read_backup_head(view, view.commit()));
  TRY(environment.refuse_unknown_trees());
  head.time = now;
  head.release = release;
  head.since = TRY(read_restored_since(environment.folder(), now));
  return head;
}

}  // namespace millrace
