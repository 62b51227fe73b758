"""The file tools: ``FilesystemMiddleware``, bound to one backend."""
