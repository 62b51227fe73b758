"""Nemotron 3 Ultra: a prompt, and twelve behaviours that make up for the model's habits."""
