"""The replay of a run: its events as steps, what caused what, and the page that plays them."""
