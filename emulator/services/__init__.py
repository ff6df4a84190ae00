"""What moto's services hold, on disk, so that it outlives the process."""
