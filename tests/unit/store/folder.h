// Where the tests of the store find their folder.
#pragma once

#include "tests/support/folder.h"
