"""One module a node of the graph, and what the nodes share: context, channels, workbench, prompts, asking."""
