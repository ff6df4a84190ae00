"""A sandbox for each person or pull request, behind one address."""
