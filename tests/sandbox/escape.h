#ifndef OZ0_TESTS_ESCAPE_H
#define OZ0_TESTS_ESCAPE_H

#define ANSWERS 3
#define WRONG 250 /* a fact that is not as it must be */

struct escape {
	const char *name;
	int (*fn)(void);
	int expected[ANSWERS]; /* errnos; 0 ends; WRONG never */
	const char *path;      /* for fn of the table's rows below */
	int flags;
	long call[6];
};

/* The row whose attempt is made: set in the process that makes it. */
extern const struct escape *escape_now;

/* These take the row's path, flags or call. */
int do_open(void);
int do_call(void);
int do_remove(void);
int setuid_mounts(void);
int remount(void);

int other_processes(void);
int read_memory_of_parent(void);
int trace_parent(void);
int trace_me(void);
int kill_init(void);
int become_root(void);
int become_root_group(void);
int set_groups(void);
int type_into_terminal(void);
int write_setting(void);
int make_device(void);
int raw_socket(void);
int far_network(void);
int loopback_of_host(void);
int abstract_socket_of_host(void);
int signal_host(void);
int through_link(void);
int capabilities(void);
int gain_privileges(void);
int unload_filter(void);
int dump_core(void);
int real_time(void);
int give_away(void);
int file_capability(void);
int run_from_shm(void);
int more_rights_by_map(void);
int dodge_oom(void);
int fill_tmp(void);
#ifdef __x86_64__
int call_i386(void);
#endif

#endif
