// Schemas of the files of calls.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

void add_file_schemas(ApiSchemas& all) {
  using namespace schema;
  all["CallFile"].media = {{"application/octet-stream", Json::object()}};
  all["CallFiles"].schema = object({{"items", list(object({
                                                  {"name", text("Relative, with slashes.")},
                                                  {"size", whole("The bytes of the file.")},
                                                  {"executable", flag()},
                                                  {"url", text("Where the file can be read.")},
                                              }))}});
}

}  // namespace millrace
