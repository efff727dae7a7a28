// Compiles the precompiled header of the tests of the engine's rooms.
