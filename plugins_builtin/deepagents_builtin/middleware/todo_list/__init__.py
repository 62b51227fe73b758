"""The ``middleware.todo-list`` plugin: LangChain's list of tasks that the model keeps."""
