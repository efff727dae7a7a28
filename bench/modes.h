// Modes of the bench program that run for minutes and check what they measure. `bench NAME` runs
// one of them; `bench` without a name runs none of them but the rows of `cluster` (rows.h). Each
// returns the exit code: 0, or 1 if a check failed. Error of each: `bench.argument`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

using ModeArguments = std::vector<std::string>;

/// A fixed rate of lifecycles for a long time, with retention, and with backups that are restored
/// and verified.
Result<int> soak(const ModeArguments& arguments);

/// A restored server beside an event stream that is ahead of the backup, behind it, or empty.
Result<int> restores(const ModeArguments& arguments);

/// The deletion of many ended instances beside a fixed rate of lifecycles.
Result<int> deletions(const ModeArguments& arguments);

/// The lifecycles and commands of one workflow beside workflows that load the engine in other ways.
/// Checks nothing: the exit code is 0.
Result<int> neighbours(const ModeArguments& arguments);

/// The first pages of lists, counts, and pages of filters without an index, on a store with a
/// million instances; and the lifecycles beside readers of lists. Checks nothing: the exit code is
/// 0.
Result<int> lists(const ModeArguments& arguments);

/// Why an event woke nothing, among a million waiting instances, and the lifecycles beside such
/// questions. Checks nothing: the exit code is 0.
Result<int> why(const ModeArguments& arguments);

/// The lifecycles, and the processor time of threads of the server, beside streams of live
/// messages. Checks nothing: the exit code is 0.
Result<int> watching(const ModeArguments& arguments);

/// Instances that take events which came before them. Checks that each finds its event.
Result<int> lookback(const ModeArguments& arguments);

/// Plain messages through a source beside native events, in turns; and the lifecycles of another
/// namespace alone and beside a source that reads a backlog. Checks that the lag of the source
/// falls steadily, and that each message counts once.
Result<int> sources(const ModeArguments& arguments);

/// The lifecycles with the log of a cluster on three nats-servers and without it, in turns; a
/// standby with an empty folder; takeovers. Checks nothing: the exit code is 1 if there is no
/// nats-server of version 2.10 or newer.
Result<int> cluster(const ModeArguments& arguments);

}  // namespace millrace
