/*
 * The system calls of each filter, by name.
 *
 * Data alone, read by filter_server.c and filter_strict.c.  What is on no
 * list of servers is unknown to them: ENOSYS.  clone3 stands nowhere on
 * purpose: its flags lie in memory, where a filter cannot look, and every libc
 * falls back to clone.
 */
#include "sandbox/filter_list.h"

#include <stddef.h>

/* clang-format off: the lists are read as text */
const char *const filter_known[] = {
	/* files */
	"access", "chdir", "chmod", "chown", "close", "close_range",
	"copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat",
	"faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat",
	"fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr",
	"flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs",
	"fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64",
	"getxattr", "inotify_add_watch", "inotify_init", "inotify_init1",
	"inotify_rm_watch", "ioctl", "lchown", "lgetxattr", "link", "linkat",
	"listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr",
	"lstat", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open",
	"openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64",
	"pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat",
	"readv", "removexattr", "rename", "renameat", "renameat2", "rmdir",
	"sendfile", "setxattr", "splice", "stat", "statfs", "statx", "symlink",
	"symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate",
	"umask", "unlink", "unlinkat", "utime", "utimensat", "utimes",
	"vmsplice", "write", "writev", "cachestat",
	/* waiting */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "pipe", "pipe2",
	"poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4",
	"timerfd_create", "timerfd_gettime", "timerfd_settime",
	/* sockets */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname",
	"getsockopt", "listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg",
	"sendmsg", "sendto", "setsockopt", "shutdown", "socket", "socketpair",
	/* memory */
	"brk", "get_mempolicy", "madvise", "map_shadow_stack", "mbind",
	"memfd_create", "mincore", "mlock", "mlock2", "mlockall", "mmap",
	"mprotect", "mremap", "mseal", "msync", "munlock", "munlockall",
	"munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
	"set_mempolicy", "process_mrelease",
	/* processes and threads */
	"arch_prctl", "capget", "capset", "clone", "execve", "execveat",
	"exit", "exit_group", "fork", "futex", "futex_wait", "futex_waitv",
	"futex_wake", "futex_requeue", "get_robust_list",
	"get_thread_area", "getcpu", "getegid", "geteuid", "getgid",
	"getgroups", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
	"getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "gettid",
	"getuid", "ioprio_get", "ioprio_set", "membarrier",
	"pidfd_open", "pidfd_send_signal", "prctl", "prlimit64",
	"riscv_hwprobe", "rseq",
	"sched_get_priority_max", "sched_get_priority_min",
	"sched_getaffinity", "sched_getattr", "sched_getparam",
	"sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
	"sched_setattr", "sched_setparam", "sched_setscheduler",
	"sched_yield", "seccomp", "set_robust_list", "set_thread_area",
	"set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups",
	"setpgid", "setpriority", "setregid", "setresgid", "setresuid",
	"setreuid", "setrlimit", "setsid", "setuid", "sysinfo", "times",
	"uname", "unshare", "vfork", "wait4", "waitid", "waitpid",
	"landlock_create_ruleset", "landlock_add_rule",
	"landlock_restrict_self",
	/* signals and time */
	"alarm", "clock_getres", "clock_gettime", "clock_nanosleep",
	"getitimer", "getrandom", "gettimeofday", "kill", "nanosleep", "pause",
	"restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
	"rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
	"rt_tgsigqueueinfo", "setitimer", "sigaltstack", "tgkill", "time",
	"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",
	"timer_settime", "tkill",
	/* System V and POSIX IPC, in a namespace of its own */
	"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
	"mq_timedsend", "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd",
	"semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt",
	"shmget",
	/* asynchronous I/O of old */
	"io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup",
	"io_submit",
	NULL,
};

const char *const filter_refused[] = {
	/* other processes' memory and descriptors */
	"kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv",
	"process_vm_writev", "ptrace",
	/* kernel attack surface */
	"bpf", "fanotify_init", "fanotify_mark", "io_uring_enter",
	"io_uring_register", "io_uring_setup", "lookup_dcookie", "modify_ldt",
	"perf_event_open", "userfaultfd",
	/* keyrings are in no namespace */
	"add_key", "keyctl", "request_key",
	/* mounts and roots */
	"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount",
	"mount_setattr", "move_mount", "open_tree", "pivot_root", "umount",
	"umount2", "name_to_handle_at", "open_by_handle_at", "setns",
	"quotactl", "quotactl_fd", "swapoff", "swapon",
	"statmount", "listmount",
	/* the machine */
	"acct", "adjtimex", "clock_adjtime", "clock_settime",
	"create_module", "delete_module", "finit_module", "init_module",
	"ioperm", "iopl", "kexec_file_load", "kexec_load", "migrate_pages",
	"move_pages", "nfsservctl", "reboot", "setdomainname", "sethostname",
	"settimeofday", "stime", "syslog", "uselib", "vhangup", "vm86",
	"vm86old",
	NULL,
};

const char *const filter_deadly[] = {
	/* opening and changing files */
	"chmod", "chown", "chroot", "creat", "fchmodat", "fchmodat2",
	"fchownat", "lchown", "link", "linkat", "mkdir", "mkdirat", "mknod",
	"mknodat", "name_to_handle_at", "open", "open_by_handle_at", "openat",
	"openat2", "rename", "renameat", "renameat2", "rmdir", "symlink",
	"symlinkat", "truncate", "unlink", "unlinkat",
	/* sockets */
	"bind", "connect", "listen", "socket",
	/* programs and processes */
	"clone", "clone3", "execve", "execveat", "fork", "kill", "kcmp",
	"pidfd_getfd", "pidfd_open", "pidfd_send_signal", "process_madvise",
	"process_vm_readv", "process_vm_writev", "ptrace", "rt_sigqueueinfo",
	"rt_tgsigqueueinfo", "setns", "tkill", "unshare", "vfork",
	/* rights */
	"capset", "personality", "setfsgid", "setfsuid", "setgid",
	"setgroups", "setregid", "setresgid", "setresuid", "setreuid",
	"setuid",
	/* kernel attack surface */
	"acct", "add_key", "bpf", "delete_module", "fanotify_init", "fsconfig",
	"fsmount", "fsopen", "fspick", "finit_module", "init_module",
	"io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm",
	"iopl", "kexec_file_load", "kexec_load", "keyctl", "mount",
	"mount_setattr", "move_mount", "open_tree", "perf_event_open",
	"pivot_root", "quotactl", "reboot", "request_key", "swapoff",
	"swapon", "syslog", "umount2", "userfaultfd",
	NULL,
};

const char *const filter_worker[] = {
	"accept4", "brk", "clock_gettime", "close", "dup", "epoll_create1",
	"epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "exit",
	"exit_group", "fstat", "ftruncate", "futex", "getegid", "geteuid",
	"getgid", "getpeername", "getpid", "getrandom", "getrusage",
	"getsockname", "getsockopt", "gettid", "gettimeofday", "getuid",
	"lseek", "madvise", "memfd_create", "mremap", "munmap", "newfstatat",
	"pipe2", "poll", "ppoll", "pread64", "pwrite64", "read", "readv",
	"recvfrom", "recvmsg", "restart_syscall", "rt_sigaction",
	"rt_sigprocmask", "rt_sigreturn", "sched_yield", "sendmsg", "sendto",
	"shutdown", "sysinfo", "timerfd_create", "timerfd_gettime",
	"timerfd_settime", "write", "writev",
	NULL,
};

/* What SQLite and a follower of the log need, below the state directory. */
const char *const filter_journal[] = {
	"access", "chmod", "clock_nanosleep", "creat", "faccessat",
	"faccessat2", "fadvise64", "fallocate", "fchmod", "fchmodat",
	"fchown", "fdatasync", "flock", "fstatfs", "fsync", "getcwd",
	"getdents64", "inotify_add_watch", "inotify_init1",
	"inotify_rm_watch", "link", "linkat", "lstat", "mkdir", "mkdirat",
	"nanosleep", "open", "openat", "openat2", "preadv", "pwritev",
	"readlink", "readlinkat", "rename", "renameat", "renameat2", "rmdir",
	"stat", "statfs", "statx", "sync_file_range", "unlink", "unlinkat",
	"utimensat", "eventfd2", "signalfd4", "uname", "msync",
	NULL,
};

/* ASan's own allocator, its reports, and its checks of the stack. */
const char *const filter_asan[] = {
	"getrlimit", "prctl", "prlimit64", "readlink", "sched_getaffinity",
	"set_robust_list", "sigaltstack", "uname",
	NULL,
};
