"""How values are written for people: times, sizes, events, and text from outside."""
