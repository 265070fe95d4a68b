#ifndef OZ0_TESTS_CONTROL_STUB_H
#define OZ0_TESTS_CONTROL_STUB_H

/*
 * What control_rpc.c and control_params.c need around them, for their fuzzer:
 * a method `m` with params of every type, a connection that goes nowhere.
 */

#endif
