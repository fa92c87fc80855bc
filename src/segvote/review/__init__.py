"""The browser application: shows masks, takes corrections and votes again."""
