"""What a demonstration or a scenario is judged by, and where runs leave what they found."""
