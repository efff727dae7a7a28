#include "orchestrator/store/rows/catalog_rows.h"

#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 a namespace's row has its settings, since version 3 its partition.
constexpr uint8_t kNamespaceVersion = 3;

/// Since version 2 a workflow's row says whether the workflow is paused, since version 3 it has
/// `groups_from`.
constexpr uint8_t kWorkflowVersion = 3;

/// Since version 2 a schedule's row has its first tick.
constexpr uint8_t kScheduleVersion = 2;

std::string definition_key(Revision revision) {
  Writer key;
  key.u32(static_cast<uint32_t>(revision.workflow));
  key.u32(revision.number);
  return key.take();
}

}  // namespace

// Namespaces.

std::string encode(const NamespaceRecord& record) {
  Writer writer = begin_record(kNamespaceVersion);
  writer.varint(static_cast<uint32_t>(record.number));
  put_time(writer, record.created_at);
  writer.bytes(record.settings);
  writer.varint(record.partition);
  return writer.take();
}

Result<NamespaceRecord> decode_namespace(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kNamespaceVersion);
  NamespaceRecord record;
  record.number = NamespaceNumber(get_u32(reader));
  record.created_at = get_time(reader);
  if (version >= 2) record.settings = get_string(reader);
  if (version >= 3) record.partition = get_u32(reader);
  return end_record(reader, record, "namespace");
}

Status each_namespace(
    const View& view,
    const std::function<void(std::string_view name, const NamespaceRecord&)>& see) {
  return each_namespace_behind(view, {}, [&](std::string_view name, const NamespaceRecord& record) {
    see(name, record);
    return true;
  });
}

Status each_namespace_behind(
    const View& view, std::string_view behind,
    const std::function<bool(std::string_view name, const NamespaceRecord&)>& see) {
  const std::string from = behind.empty() ? std::string() : std::string(behind) + '\0';
  return walk(view, Table::kNamespaces, {}, from,
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                return see(
                    key, TRY(rows::decode(view, Table::kNamespaces, key, value, decode_namespace)));
              });
}

Result<std::optional<NamespaceRecord>> read_namespace(const View& view, std::string_view name) {
  return read(view, Table::kNamespaces, name, decode_namespace);
}

void write_namespace(Transaction& tx, std::string_view name, const NamespaceRecord& record) {
  tx.put(Table::kNamespaces, name, encode(record));
}

void erase_namespace(Transaction& tx, std::string_view name) { tx.erase(Table::kNamespaces, name); }

// Workflows.

std::string encode(const WorkflowRecord& record) {
  Writer writer = begin_record(kWorkflowVersion);
  writer.varint(static_cast<uint32_t>(record.number));
  writer.varint(record.latest);
  writer.boolean(record.paused);
  writer.varint(record.groups_from);
  return writer.take();
}

Result<WorkflowRecord> decode_workflow(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kWorkflowVersion);
  WorkflowRecord record;
  record.number = WorkflowNumber(get_u32(reader));
  record.latest = get_u32(reader);
  if (version >= 2) record.paused = reader.boolean();
  if (version >= 3) record.groups_from = get_u32(reader);
  return end_record(reader, record, "workflow");
}

Status each_workflow(const View& view,
                     const std::function<void(NamespaceNumber ns, std::string_view id,
                                              const WorkflowRecord&)>& see) {
  return walk(view, Table::kWorkflows, {}, {},
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                Reader reader(key);
                const auto ns = NamespaceNumber(reader.u32());
                see(ns, reader.rest(),
                    TRY(rows::decode(view, Table::kWorkflows, key, value, decode_workflow)));
                return true;
              });
}

Status each_workflow(const View& view, NamespaceNumber ns,
                     const std::function<void(std::string_view id, const WorkflowRecord&)>& see) {
  return each_workflow_behind(view, ns, {}, [&](std::string_view id, const WorkflowRecord& record) {
    see(id, record);
    return true;
  });
}

Status each_workflow_behind(
    const View& view, NamespaceNumber ns, std::string_view behind,
    const std::function<bool(std::string_view id, const WorkflowRecord&)>& see) {
  const std::string prefix = ns_prefix(ns);
  const std::string from =
      behind.empty() ? std::string() : std::string(prefix).append(behind).append(1, '\0');
  return walk(view, Table::kWorkflows, prefix, from,
              [&](std::string_view key, std::string_view value) -> Result<bool> {
                return see(key.substr(prefix.size()),
                           TRY(rows::decode(view, Table::kWorkflows, key, value, decode_workflow)));
              });
}

Result<std::optional<WorkflowRecord>> read_workflow(const View& view, NamespaceNumber ns,
                                                    std::string_view id) {
  return read(view, Table::kWorkflows, ns_prefix(ns).append(id), decode_workflow);
}

void write_workflow(Transaction& tx, NamespaceNumber ns, std::string_view id,
                    const WorkflowRecord& record) {
  tx.put(Table::kWorkflows, ns_prefix(ns).append(id), encode(record));
}

void erase_workflow(Transaction& tx, NamespaceNumber ns, std::string_view id) {
  tx.erase(Table::kWorkflows, ns_prefix(ns).append(id));
}

Error damaged_workflow(NamespaceNumber ns, std::string_view id, std::string_view what) {
  return damaged_row(Table::kWorkflows, ns_prefix(ns).append(id), what);
}

// Definitions.

std::string encode(const DefinitionRecord& record) {
  Writer writer = begin_record();
  put_time(writer, record.created_at);
  writer.bytes(record.text);
  return writer.take();
}

Result<DefinitionRecord> decode_definition(std::string_view bytes) {
  Reader reader = open_record(bytes);
  DefinitionRecord record;
  record.created_at = get_time(reader);
  record.text = get_string(reader);
  return end_record(reader, std::move(record), "definition");
}

Result<std::optional<DefinitionRecord>> read_definition(const View& view, Revision revision) {
  return read(view, Table::kDefinitions, definition_key(revision), decode_definition);
}

Result<size_t> definition_bytes(const View& view, Revision revision) {
  const auto row = view.get(Table::kDefinitions, definition_key(revision));
  TRY(view.status());
  return row ? row->size() : size_t{0};
}

Status each_definition(const View& view, WorkflowNumber workflow, std::optional<uint32_t> before,
                       const std::function<bool(uint32_t revision, const DefinitionRecord&)>& see,
                       const OnDamage& damaged) {
  const std::string prefix = workflow_prefix(workflow);
  const std::string from = before ? definition_key({workflow, *before}) : std::string();
  view.scan(Table::kDefinitions, prefix, from, Direction::kBackward,
            [&](std::string_view key, std::string_view value) {
              const auto record =
                  rows::decode(view, Table::kDefinitions, key, value, decode_definition);
              if (record) return see(Reader(key.substr(prefix.size())).u32(), *record);
              damaged(record.error());
              return true;
            });
  return view.status();
}

void write_definition(Transaction& tx, Revision revision, const DefinitionRecord& record) {
  tx.put(Table::kDefinitions, definition_key(revision), encode(record));
}

Error damaged_definition(Revision revision, std::string_view what) {
  return damaged_row(Table::kDefinitions, definition_key(revision), what);
}

// Schedules.

std::string encode(const ScheduleRecord& record) {
  Writer writer = begin_record(kScheduleVersion);
  put_time(writer, record.from);
  put_optional(writer, record.last, put_time);
  put_optional(writer, record.first, put_time);
  return writer.take();
}

Result<ScheduleRecord> decode_schedule(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kScheduleVersion);
  ScheduleRecord record;
  record.from = get_time(reader);
  record.last = get_optional(reader, get_time);
  if (version >= 2) record.first = get_optional(reader, get_time);
  return end_record(reader, record, "schedule");
}

void write_schedule(Transaction& tx, WorkflowNumber workflow, const ScheduleRecord& record) {
  tx.put(Table::kSchedules, workflow_prefix(workflow), encode(record));
}

void erase_schedule(Transaction& tx, WorkflowNumber workflow) {
  tx.erase(Table::kSchedules, workflow_prefix(workflow));
}

Result<std::optional<ScheduleRecord>> read_schedule(const View& view, WorkflowNumber workflow) {
  return read(view, Table::kSchedules, workflow_prefix(workflow), decode_schedule);
}

Error damaged_schedule(WorkflowNumber workflow, std::string_view what) {
  return damaged_row(Table::kSchedules, workflow_prefix(workflow), what);
}

}  // namespace millrace
