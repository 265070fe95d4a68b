#ifndef OZ0_CLI_EXIT_H
#define OZ0_CLI_EXIT_H

/* Exit codes of oz0 (INTERFACES); `run` has its harness's own. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_TOOL_ERROR = 1, /* the tool answered with an error result */
	CLI_USAGE = 2,
	CLI_REFUSED = 3, /* policy, kill switch, approval, role */
	CLI_CANCELED = 4,
	CLI_NOT_MADE = 5, /* failed, nothing made */
	CLI_UNKNOWN = 6,  /* failed, outcome unknown */
	CLI_NO_NODE = 7,  /* no node, or the connection was lost */
	CLI_RUN_FAILED = 125, /* of `run`: oz0 itself failed */
};

#endif
