#include "broker/log/snapshot_manifest.h"

#include <array>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"
#include "broker/log/body_members.h"

namespace millrace {
namespace {

constexpr const char* kMacMember = "mac";

/// Of the members without the MAC. Equal members have equal texts.
std::string mac_of_manifest(const Json& members, std::string_view key) {
  return to_hex(keyed_fingerprint(key, {"millrace snapshot", dump_json(members)}));
}

tl::unexpected<Error> foreign_manifest(std::string_view why) {
  return fail("snapshot.foreign", fmt::format("the manifest of a snapshot {}", why));
}

Json json_of(const LogPosition& position) {
  return {{"sequence", position.sequence},  {"epoch", position.name.epoch},
          {"commit", position.name.commit}, {"incarnation", to_hex(position.name.incarnation)},
          {"node", to_hex(position.node)},  {"chain", to_hex(position.chain)}};
}

Result<LogPosition> position_in(const BodyMembers& body, const char* name) {
  const BodyMembers members = TRY(body.object(name));
  LogPosition position;
  position.sequence = TRY(members.number("sequence"));
  position.name.epoch = TRY(members.number("epoch"));
  position.name.commit = TRY(members.number("commit"));
  position.name.incarnation = TRY(members.bytes<16>("incarnation"));
  position.node = TRY(members.bytes<16>("node"));
  position.chain = TRY(members.bytes<16>("chain"));
  return position;
}

Result<std::map<std::string, uint64_t>> rows_in(const BodyMembers& body) {
  const BodyMembers members = TRY(body.object("rows"));
  const Json* const object = TRY(body.at("rows"));
  std::map<std::string, uint64_t> rows;
  for (const auto& [table, count] : object->items()) {
    rows[table] = TRY(members.number(table.c_str()));
  }
  return rows;
}

}  // namespace

std::string encode_snapshot_manifest(const SnapshotManifest& manifest, std::string_view key) {
  Json members = {{"id", manifest.id},
                  {"from", json_of(manifest.from)},
                  {"to", json_of(manifest.to)},
                  {"chunks", manifest.chunks},
                  {"messages", manifest.messages},
                  {"bytes", manifest.bytes},
                  {"rows", manifest.rows},
                  {"format", manifest.format},
                  {"hash", manifest.hash},
                  {"first", manifest.first_sequence},
                  {"node", manifest.node},
                  {"version", manifest.version}};
  std::string mac = mac_of_manifest(members, key);
  members[kMacMember] = std::move(mac);
  return dump_json(members);
}

Result<SnapshotManifest> decode_snapshot_manifest(std::string_view body, std::string_view key) {
  if (body.size() > kMostSnapshotManifestBytes) {
    return foreign_manifest(
        fmt::format("has {} bytes; expected at most {}", body.size(), kMostSnapshotManifestBytes));
  }
  Result<Json> json = parse_json(body);
  if (!json) return foreign_manifest("is not JSON: " + json.error().message);
  if (!json->is_object()) return foreign_manifest("is not an object");
  const auto found = json->find(kMacMember);
  if (found == json->end()) return foreign_manifest("has no member `mac`");
  const Json mac = *found;
  json->erase(kMacMember);
  if (mac != Json(mac_of_manifest(*json, key))) {
    return foreign_manifest(
        "has another MAC than the key of the cluster gives; expected a manifest of a node with the "
        "same secret key");
  }
  const BodyMembers members(*json, "snapshot.unreadable", "the manifest of a snapshot");
  SnapshotManifest manifest;
  manifest.id = to_hex(TRY(members.bytes<16>("id")));
  manifest.from = TRY(position_in(members, "from"));
  manifest.to = TRY(position_in(members, "to"));
  manifest.chunks = TRY(members.number("chunks"));
  manifest.messages = TRY(members.number("messages"));
  manifest.bytes = TRY(members.number("bytes"));
  manifest.rows = TRY(rows_in(members));
  manifest.format = TRY(members.number("format"));
  manifest.hash = to_hex(TRY(members.bytes<32>("hash")));
  manifest.first_sequence = TRY(members.number("first"));
  manifest.node = to_hex(TRY(members.bytes<16>("node")));
  manifest.version = TRY(members.text("version"));
  if (manifest.from.sequence > manifest.to.sequence) {
    return members.error(fmt::format("begins at {} of the log and ends before that, at {}",
                                     manifest.from.sequence, manifest.to.sequence));
  }
  return manifest;
}

}  // namespace millrace
