// The fixture for units that look up namespaces, settings and workflows: a faulty store
// (faulty_store.h) with a catalog and the default namespace.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/support/faulty_store.h"

namespace millrace {

/// An id that sorts by its number.
inline InstanceId numbered_id(uint8_t number) {
  InstanceId id;
  id.bytes.back() = number;
  return id;
}

class CatalogStoreTest : public FaultyStoreTest {
 protected:
  CatalogStoreTest() { ns = create_namespace(std::string(kDefaultNamespace)); }

  // Each of these functions commits.

  NamespaceNumber create_namespace(const std::string& name) {
    const Status created = catalog.create_namespace(*tx, name, now);
    EXPECT_TRUE(created) << created.error().message;
    commit_catalog();
    return catalog.find_namespace(name).value_or(NamespaceNumber(0));
  }
  void set_settings(const Json& settings) {
    auto parsed = parse_settings(settings);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Status set = catalog.set_settings(*tx, ns, dump_json(settings), std::move(*parsed));
    EXPECT_TRUE(set) << set.error().message;
    commit_catalog();
  }
  /// Overwrites the stored settings with a text that is not JSON.
  void damage_settings() {
    auto record = read_namespace(*tx, kDefaultNamespace);
    ASSERT_TRUE(record && *record);
    (*record)->settings = "{";
    write_namespace(*tx, kDefaultNamespace, **record);
    commit();
    ASSERT_TRUE(catalog.load(*tx));
  }
  /// Applies a workflow in the default namespace.
  WorkflowNumber apply(const std::string& text) {
    auto workflow = load_stored(text);
    EXPECT_TRUE(workflow) << workflow.error().message;
    if (!workflow) return {};
    const std::string id = (*workflow)->id;
    const auto applied = catalog.apply(*tx, ns, text, std::move(*workflow), now);
    EXPECT_TRUE(applied) << applied.error().message;
    commit_catalog();
    return catalog.find_workflow(ns, id)->number;
  }
  void commit_catalog() {
    commit();
    batches.begin();
  }

  TimePoint now = from_millis(1'700'000'000'000);
  Damages damages;
  DefinitionCache definitions{load_stored};
  BatchCount batches;
  Catalog catalog{definitions, batches};
  NamespaceNumber ns{};  ///< the default namespace
};

}  // namespace millrace
