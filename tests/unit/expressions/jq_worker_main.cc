#include "expressions/workers/worker.h"

int main() { return millrace::run_jq_worker(millrace::kJqWorkerFd); }
