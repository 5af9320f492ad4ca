"""Examples of what the framework is for, each a test that can be read on its own."""
