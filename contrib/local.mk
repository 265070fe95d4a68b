# What goes with oz0 on a host: completion, the systemd unit,
# Debian packaging.
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
dist_zshcomp_DATA = contrib/completion/_oz0
dist_fishcomp_DATA = contrib/completion/oz0.fish
EXTRA_DIST += contrib/completion/oz0.bash contrib/systemd/oz0d.service.in \
	contrib/debian/README.source \
	contrib/debian/changelog \
	contrib/debian/control \
	contrib/debian/copyright \
	contrib/debian/rules \
	contrib/debian/source/format

# bash finds a completion by the command's own name
install-data-hook: install-bash-completion
install-bash-completion:
	$(MKDIR_P) '$(DESTDIR)$(bashcompdir)'
	$(INSTALL_DATA) '$(srcdir)/contrib/completion/oz0.bash' \
		'$(DESTDIR)$(bashcompdir)/oz0'
uninstall-hook: uninstall-bash-completion
uninstall-bash-completion:
	rm -f '$(DESTDIR)$(bashcompdir)/oz0'
.PHONY: install-bash-completion uninstall-bash-completion

contrib/systemd/oz0d.service: contrib/systemd/oz0d.service.in Makefile
	$(AM_V_at)$(MKDIR_P) contrib/systemd
	$(AM_V_GEN)$(SED) -e 's|@sbindir[@]|$(sbindir)|g' \
		-e 's|@sysconfdir[@]|$(sysconfdir)|g' \
		'$(srcdir)/contrib/systemd/oz0d.service.in' >$@.new && mv $@.new $@
CLEANFILES += contrib/systemd/oz0d.service
if SYSTEMD_UNIT
systemdsystemunit_DATA = contrib/systemd/oz0d.service
endif
