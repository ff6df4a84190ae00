"""What a run reads: streams, or objects of the audit bucket."""
