// Schemas of backups. docs/FORMATS.md describes the members of a backup and the bytes of a chunk.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

void add_backup_schemas(ApiSchemas& all) {
  using namespace schema;
  all["Backup"].schema = object({
      {"id", text("Names the backup in the calls that read its chunks.")},
      {"aboutRows", whole("About how many rows the backup has.")},
      {"version", whole("The version of the format of backups.", 1)},
      {"store", text("The id of the store, in hexadecimal digits; empty: it has none.")},
      {"format", whole("The format of the store.", 1)},
      {"minor?", whole("The minor number of the format of the store.")},
      {"commit", whole("The number of the commit that the backup shows.")},
      {"cursor", object({{"streamCreated", whole("Nanoseconds since 1970.")},
                         {"sequence", whole("The sequence of the last applied event.")},
                         {"stamped", instant("The broker's time of that event.")}})},
      {"time", instant("When the backup began.")},
      {"millrace", text("The release that made the backup.")},
      {"key?", text("The row with the check of the store's key, in hexadecimal digits.")},
      {"since?", instant("From when on events must be in the stream for a restore.")},
  });
  all["BackupEnded"].schema = object({{"id", text()}, {"ended", exactly(true)}});
  all["BackupChunk"].media = {{"application/octet-stream", Json::object()}};
}

}  // namespace millrace
