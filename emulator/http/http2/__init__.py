"""HTTP/2 with prior knowledge on the AWS port."""
