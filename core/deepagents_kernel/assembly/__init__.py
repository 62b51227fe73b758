"""From a request to a plan to a graph, one small pure step a module."""
