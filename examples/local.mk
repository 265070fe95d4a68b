# examples: oz0-demo, and what is shown to plugin authors and operators
bin_PROGRAMS += oz0-demo
oz0_demo_SOURCES = \
	examples/demo/call.c examples/demo/call.h \
	examples/demo/demo.h \
	examples/demo/fn_ask.c \
	examples/demo/fn_break.c \
	examples/demo/fn_busy.c \
	examples/demo/fn_flood.c \
	examples/demo/fn_progress.c \
	examples/demo/fn_say.c \
	examples/demo/fn_time.c \
	examples/demo/fn_world.c \
	examples/demo/fn_write.c \
	examples/demo/function.c examples/demo/function.h \
	examples/demo/ledger.c examples/demo/ledger.h \
	examples/demo/main.c \
	examples/demo/mcp.c examples/demo/mcp.h \
	examples/demo/options.c examples/demo/options.h \
	examples/demo/out.c examples/demo/out.h \
	examples/demo/rpc.c examples/demo/rpc.h
oz0_demo_LDADD = libbase.a

dist_man_MANS += man/oz0-demo.1 man/oz0-plugin.7

# Below the documentation's folder, as they stand here.
examplesdir = $(docdir)
nobase_dist_examples_DATA = \
	examples/README.md \
	examples/config/README.md \
	examples/config/billing.json \
	examples/config/demo.json \
	examples/config/oz0.json \
	examples/config/policy.json \
	examples/config/user.json \
	examples/python/requirements.txt \
	examples/typescript/.npmrc \
	examples/typescript/package.json
nobase_dist_examples_SCRIPTS = \
	examples/check_plugin.py \
	examples/harness/harness.py \
	examples/harness/harness.sh \
	examples/python/billing.py \
	examples/typescript/billing.mjs
