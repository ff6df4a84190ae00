"""The course: lessons with a broken client each, and checks that run clauses of the certificate."""
