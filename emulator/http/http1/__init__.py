"""HTTP/1.1 on the AWS port: parsing, exchanges, and what a head and a body may be."""
