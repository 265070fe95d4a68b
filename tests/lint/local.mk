# Lints, run by `make check` too; each is a script that looks at the tree.
