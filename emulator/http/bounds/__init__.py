"""What one client of a port may cost the others: sizes, times, memory and turns."""
