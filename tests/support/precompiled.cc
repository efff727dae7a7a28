// An empty unit: its target compiles tests/support/precompiled.h for all test programs.
