"""What the prompt caching plugins share: stand-ins that import a provider's package only when it is used."""
