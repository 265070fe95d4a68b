#!/bin/sh
# Every shell script of the tree, through shellcheck.
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
cd "${OZ0_SRCDIR:-.}" || exit 99
list=$(find . \( -name build -o -name .git -o -name build-aux \
	-o -name 'oz0-[0-9]*' -o -name node_modules -o -name corpus \) -prune -o \
	-type f \( -name '*.sh' -o -path './.ci/run' \
	-o -path './contrib/completion/oz0.bash' \) ! -name setup.sh -print)
# shellcheck disable=SC2086 # names without blanks
exec shellcheck -x $list
