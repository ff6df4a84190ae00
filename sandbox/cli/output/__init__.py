"""What commands print, and the codes they exit with."""
