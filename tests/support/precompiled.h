// The precompiled header of the test programs: that of all targets, and GoogleTest.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/precompiled.h"
