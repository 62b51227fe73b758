"""The ``model.init-chat-model`` plugin: models of every provider that LangChain knows."""
