#!/bin/sh
# codespell over what people read and write.
command -v codespell >/dev/null || { echo "codespell is not installed"; exit 77; }
cd "${OZ0_SRCDIR:-.}" || exit 99
exec codespell --skip '*/corpus/*,*/package-lock.json,*/__pycache__/*' \
	--ignore-words-list 'alse,ans,asent,fo,nd,nin,nown,ot,te,timeot,ue,unx,upto,whats' \
	base wire sandbox supervisor worker journal cli examples man tests \
	bench contrib ./*.md NEWS configure.ac Makefile.am ./*.sh
