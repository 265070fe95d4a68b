# Pages of oz0d, its configuration and its protocol; others are listed by
# the room of their program.
dist_man_MANS += man/oz0d.8 man/oz0.json.5 man/oz0-control.7
