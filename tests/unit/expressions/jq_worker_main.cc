// The jq worker and its launcher, without the rest of the program.
#include "expressions/workers/worker.h"

int main(int argc, char** argv) { return millrace::run_as_jq_process(argc, argv).value_or(2); }
