"""The profiles, which start a sandbox in different environments, and the record of the running one."""
