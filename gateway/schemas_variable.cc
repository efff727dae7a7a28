// Schemas of variables and secrets.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

void add_variable_schemas(ApiSchemas& all) {
  using namespace schema;
  all["VariableBytes"].media = {{"*/*", Json::object()}};
  all["VariableHead"].schema = object({
      {"key", text()},
      {"size", whole("The bytes of the value.")},
      {"contentType", text()},
      {"sealed?", exactly(true, "An instance that holds a secret set the variable.")},
  });
  all["Variables"].schema = page(ref("VariableHead"));
  all["VariableStored"].schema = object(
      {{"key", text()}, {"size", whole("The bytes of the value.")}, {"contentType", text()}});
  all["VariableDeleted"].schema = object({{"key", text()}, {"deleted", exactly(true)}});
  all["SecretBytes"].media = {{"*/*", Json::object()}};
  all["TaskResult"].media = {{"*/*", Json::object()}};
  all["TaskFailure"].schema =
      object({{"code", text("The error code, as `catch` and `retries` compare it.")},
              {"message?", text()}});
  all["TaskProgress"].schema =
      object({{"progress?", any("How far the service is: at most 4 KiB of JSON.")}});
  all["CallbackAccepted"].schema = object({{"accepted", exactly(true)}});
  all["Secrets"].schema = page(object({{"name", text()}}));
  all["SecretStored"].schema =
      object({{"name", text()}, {"created", flag("false: the secret had a value before.")}});
  all["SecretDeleted"].schema = object({{"name", text()}, {"deleted", exactly(true)}});
}

}  // namespace millrace
