#include "tests/integration/cluster_under_load.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "orchestrator/store/disk/log_row.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/all_rows.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr Duration kAnswerOfNode = std::chrono::seconds(1);
/// How much of a node's log is kept.
constexpr size_t kKeptLog = 16'000;
/// How many orders may be paid and not delivered while the load proceeds.
constexpr size_t kMostUndelivered = 100;
constexpr int kExitCodeOfSignals = 128;
/// How often all nodes are killed until all folders end at one position: a commit may come between.
constexpr int kMostEnds = 10;

/// The end of the text, at most kKeptLog bytes.
std::string end_of(const std::string& text) {
  return text.size() <= kKeptLog ? text : text.substr(text.size() - kKeptLog);
}

/// The number of orders, and the first of them.
std::string some_of(const std::set<std::string>& orders) {
  constexpr size_t kMostNamed = 20;
  std::string text = fmt::format("{}:", orders.size());
  size_t named = 0;
  for (const std::string& order : orders) {
    if (++named > kMostNamed) break;
    text += ' ';
    text += order;
  }
  return text;
}

/// The position of the last commit that the folder has.
std::string position_in(const RowsByKey& rows) {
  const auto row = rows.find({Table::kMeta, std::string(kLogKey)});
  return row == rows.end() ? "" : row->second;
}

/// Some rows in which the stores of two nodes differ, with their keys in hexadecimal digits; empty:
/// they are equal.
std::string different_rows(const RowsByKey& one, const RowsByKey& other) {
  constexpr size_t kMostShown = 3;
  if (one == other) return "";
  std::vector<std::string> found;
  const auto add = [&](const RowsByKey::key_type& at, std::string_view what) {
    if (found.size() == kMostShown) return;
    found.push_back(
        fmt::format("table {} key {} {}", static_cast<int>(at.first), to_hex(at.second), what));
  };
  for (const auto& [at, value] : one) {
    const auto row = other.find(at);
    if (row == other.end()) {
      add(at, "is only in the first");
    } else if (row->second != value) {
      add(at, "differs");
    }
  }
  for (const auto& [at, value] : other) {
    if (!one.contains(at)) add(at, "is only in the second");
  }
  return fmt::format("{} and {} rows\n{}", one.size(), other.size(), fmt::join(found, "\n"));
}

/// Whether each thread of the process is suspended: none is in a system call any more.
bool is_all_suspended(pid_t process) {
  for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream file(thread.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    // "PID (NAME) STATE …": the name may have spaces and brackets.
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || stat.substr(name_end, 3) != ") T") return false;
  }
  return true;
}

}  // namespace

ClusterUnderLoad::ClusterUnderLoad(ClusterUnderLoadSettings settings)
    : settings_(std::move(settings)), brokers_(settings_.nats_server) {
  const fs::path key = folder_.path() / "key";
  std::ofstream(key) << std::string(64, 'a');
  fs::permissions(key, fs::perms::owner_read);
  for (size_t i = 0; i < settings_.nodes; ++i) add_node();
  connection_ = brokers_.connect();
}

ClusterUnderLoad::~ClusterUnderLoad() = default;

void ClusterUnderLoad::add_node() {
  auto node = std::make_unique<Node>();
  node->server = std::make_unique<MillraceServer>(urls_for(*node));
  node->server->set_port(node->port.port());
  std::vector<std::string> arguments = {
      "--cluster",         "shop",
      "--secret-key-file", (folder_.path() / "key").string(),
      "--stream-replicas", "3",
      "--takeover-after",  settings_.takeover_after,
      "--advertise",       fmt::format("http://127.0.0.1:{}", node->port.port())};
  if (nodes_.empty()) arguments.emplace_back("--found");
  node->server->set_arguments(std::move(arguments));
  nodes_.push_back(std::move(node));
}

std::string ClusterUnderLoad::urls_for(Node& node) {
  if (!settings_.has_proxies) return brokers_.urls();
  std::vector<std::string> urls;
  for (size_t i = 0; i < NatsCluster::kServers; ++i) {
    node.proxies.push_back(std::make_unique<TcpProxy>(brokers_.server(i).port()));
    urls.push_back(node.proxies.back()->nats_url());
  }
  return fmt::format("{}", fmt::join(urls, ","));
}

void ClusterUnderLoad::start() {
  ASSERT_TRUE(NatsCluster::has_leader(*connection_));
  for (size_t i = 0; i < size(); ++i) {
    start_node(i);
    ASSERT_TRUE(eventually([&] { return is_ready(*nodes_[i]); }))
        << "node " << i << " does not become ready";
  }
  const std::optional<size_t> first = active();
  ASSERT_TRUE(first);
  node(*first).apply(OrderLoad::kDefinition);
  ASSERT_TRUE(eventually([&] { return is_whole(*connection_); }));
  subscribers_ = std::make_unique<OrderSubscribers>(brokers_.connect());
  load_ = std::make_unique<OrderLoad>(ports());
  watch_ = std::make_unique<ActivesWatch>(ports());
  ASSERT_TRUE(load_->proceeds()) << "no order is processed";
}

std::vector<uint16_t> ClusterUnderLoad::ports() const {
  std::vector<uint16_t> ports;
  for (const auto& node : nodes_) ports.push_back(node->port.port());
  return ports;
}

std::optional<size_t> ClusterUnderLoad::active() {
  std::optional<size_t> found;
  const bool has_one = eventually([&] {
    supervise();
    for (size_t i = 0; i < size(); ++i) {
      if (!is_active_now(nodes_[i]->port.port())) continue;
      found = i;
      return true;
    }
    return false;
  });
  EXPECT_TRUE(has_one) << "no node is the active";
  return found;
}

bool ClusterUnderLoad::has_active_beside(size_t former) {
  return eventually([&] {
    supervise();
    for (size_t i = 0; i < size(); ++i) {
      if (i != former && is_active_now(nodes_[i]->port.port())) return true;
    }
    return false;
  });
}

void ClusterUnderLoad::kill_node(size_t index) {
  Node& node = *nodes_[index];
  node.is_down = true;
  node.server->process().signal(SIGKILL);
  node.log = end_of(node.log + node.server->process().errors() + "(killed)\n");
  node.server->kill();
}

void ClusterUnderLoad::stop_node(size_t index) {
  Node& node = *nodes_[index];
  node.is_down = true;
  node.server->process().signal(SIGTERM);
  const ProcessEnd end = node.server->end();
  node.log = end_of(node.log + end.errors);
  EXPECT_EQ(end.code, 0) << "node " << index << " after SIGTERM";
}

void ClusterUnderLoad::start_node(size_t index) {
  Node& node = *nodes_[index];
  node.server->start();
  node.is_down = false;
}

void ClusterUnderLoad::supervise() {
  for (size_t i = 0; i < size(); ++i) {
    Node& node = *nodes_[i];
    if (node.is_down || node.server->is_running()) continue;
    const ProcessEnd end = node.server->end();
    node.log = end_of(node.log + end.errors);
    fmt::print("node {} has ended by itself with code {}, and is started again\n", i, end.code);
    EXPECT_LT(end.code, kExitCodeOfSignals) << "node " << i << " has crashed:\n" << node.log;
    node.server->start();
  }
}

void ClusterUnderLoad::cut(size_t index) {
  for (const auto& proxy : nodes_[index]->proxies) proxy->swallow();
}

void ClusterUnderLoad::join(size_t index) {
  for (const auto& proxy : nodes_[index]->proxies) proxy->pass();
}

void ClusterUnderLoad::copy_broker(size_t index, const fs::path& to) {
  NatsServer& server = brokers_.server(index);
  server.process().stop();
  replace_folder(to, server.store());
  ASSERT_TRUE(server.process().start_again());
  wait_for_brokers(index);
}

void ClusterUnderLoad::put_back(size_t index, const fs::path& from) {
  replace_folder(brokers_.server(index).store(), from);
}

void ClusterUnderLoad::wait_for_brokers(size_t server) {
  wait_until_whole(brokers_, server, [this] { return is_whole(*connection_); });
}

bool ClusterUnderLoad::is_whole(const Connection& connection) {
  return NatsCluster::is_whole(connection) && NatsCluster::is_whole(connection, kLog);
}

bool ClusterUnderLoad::is_ready(const Node& node) const {
  return request_within(kAnswerOfNode, node.port.port(), "GET", "/readyz").status == 200;
}

void ClusterUnderLoad::settle() {
  for (size_t i = 0; i < size(); ++i) {
    const bool becomes_ready = eventually([&] {
      supervise();
      return is_ready(*nodes_[i]);
    });
    ASSERT_TRUE(becomes_ready) << "node " << i << " does not become ready";
  }
  ASSERT_TRUE(active());
  ASSERT_TRUE(load_->proceeds()) << "no order is processed any more";
  // Events that the NATS servers have lost are sent again at the end.
  if (has_lost_messages_) return;
  EXPECT_TRUE(eventually([&] {
    return load_->paid() < subscribers_->delivered() + kMostUndelivered;
  })) << "of "
      << load_->paid() << " orders only " << subscribers_->delivered() << " are delivered";
}

void ClusterUnderLoad::expect_sound_copies() {
  for (size_t i = 0; i < size(); ++i) {
    MillraceServer& node = *nodes_[i]->server;
    if (!node.is_running()) continue;  // supervise() starts it again
    const Folder copy;
    const fs::path data = copy.path() / "data";
    node.process().signal(SIGSTOP);
    const bool is_suspended = eventually([&] { return is_all_suspended(node.process().pid()); });
    if (is_suspended) replace_folder(data, node.data());
    node.process().signal(SIGCONT);
    ASSERT_TRUE(is_suspended) << "node " << i;
    ASSERT_TRUE(fs::exists(data / "data.mdb"));
    expect_sound_folder(data, fmt::format("in a copy of the folder of node {}", i));
  }
}

void ClusterUnderLoad::will_lose_messages() { subscribers_->mark(); }

void ClusterUnderLoad::have_lost_messages() {
  has_lost_messages_ = true;
  subscribers_->read_again();
}

void ClusterUnderLoad::expect_each_order_once() {
  load_->stop();
  const std::set<std::string> orders = load_->orders();
  if (has_lost_messages_) {
    for (const std::string& order : subscribers_->undelivered(orders)) load_->pay_again(order);
  }
  EXPECT_TRUE(eventually([&] { return subscribers_->undelivered(orders).empty(); }))
      << "lost: orders that are not delivered: " << some_of(subscribers_->undelivered(orders));
  subscribers_->expect_each_once(orders);
  const std::optional<size_t> index = active();
  ASSERT_TRUE(index);
  EXPECT_TRUE(node(*index).has_usage(0, orders.size())) << "of " << orders.size() << " orders";
  EXPECT_EQ(node(*index).instances("workflow=order&status=complete").size(), orders.size());
  if (!has_lost_messages_) {
    EXPECT_TRUE(node(*index).items("dlq").empty());
  }
}

bool ClusterUnderLoad::are_all_caught_up() {
  return eventually([&] {
    supervise();
    return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      const HttpReply reply =
          request_within(kAnswerOfNode, node->port.port(), "GET", "/v1/cluster");
      return is_ready(*node) && reply.status == 200 &&
             reply.json().at("nodes").at(0).at("behindCommits") == 0;
    });
  });
}

/// All processes end at nearly the same time, so that none of them takes over.
void ClusterUnderLoad::kill_all() {
  for (const auto& node : nodes_) node->server->process().signal(SIGKILL);
  for (size_t i = 0; i < size(); ++i) kill_node(i);
}

void ClusterUnderLoad::expect_equal_stores() {
  watch_.reset();
  for (int end = 0; end < kMostEnds; ++end) {
    ASSERT_TRUE(are_all_caught_up()) << "a standby stays behind";
    kill_all();
    const RowsByKey first = rows_in_folder(node(0).data());
    bool have_one_position = true;
    for (size_t i = 1; i < size(); ++i) {
      const RowsByKey other = rows_in_folder(node(i).data());
      if (position_in(other) != position_in(first)) {
        have_one_position = false;
        break;
      }
      EXPECT_EQ(different_rows(first, other), "") << "in the folders of nodes 0 and " << i;
    }
    if (have_one_position) return;
    for (size_t i = 0; i < size(); ++i) start_node(i);
  }
  ADD_FAILURE() << "after " << kMostEnds << " ends, the folders had different positions";
}

std::string ClusterUnderLoad::logs() {
  std::string all;
  for (size_t i = 0; i < size(); ++i) {
    const Node& node = *nodes_[i];
    const bool has_process = !node.is_down;
    all += fmt::format("log of node {}:\n{}\n", i,
                       end_of(has_process ? node.log + node.server->process().errors() : node.log));
  }
  return all;
}

}  // namespace millrace
