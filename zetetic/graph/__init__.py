"""The wiring: graph, savers, and running a research from Python."""
