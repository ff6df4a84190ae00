"""What is written on screens: figures, columns, sentences."""
