"""Text for the screens: formatted figures, columns, sentences. Nothing here draws or fetches."""
