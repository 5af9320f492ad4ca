"""The examples that say what the framework is for, each as a test that can be read on its own."""
