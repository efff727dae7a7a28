// Compiles the precompiled header of the tests with an engine.
