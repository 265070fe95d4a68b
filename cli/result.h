#ifndef OZ0_CLI_RESULT_H
#define OZ0_CLI_RESULT_H

#include "cli/cmd.h"
#include "base/json.h"

/* Shows the answer of call/start; the exit code that it means. */
int result_show(struct cli *cli, struct json_value answer);

#endif
