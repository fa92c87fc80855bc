"""The browser application: look at masks, click what is wrong, watch everything vote again."""
