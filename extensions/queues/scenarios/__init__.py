"""Scenarios in which workers share a queue by claims."""
