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
