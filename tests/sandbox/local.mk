# Attempts to get out of a sandbox, each of which must fail.
