"""What is asked of the tables: reports, SQL, and where records are missing."""
