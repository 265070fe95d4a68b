#ifndef OZ0_WIRE_MESSAGE_H
#define OZ0_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Every message between the processes of a node, in one table (message.c):
 * number, name, sender, receiver, size of its body, payload, descriptors.
 * A number is never used twice.  PROTOCOL.md describes the bodies; a lint
 * compares the two.
 */
#define WIRE_VERSION 1

enum wire_role {
	WIRE_ROLE_SUPERVISOR = 1,
	WIRE_ROLE_WORKER = 2,
	WIRE_ROLE_SANDBOX = 3, /* an init; or the helper that makes it */
	WIRE_ROLE_JOURNAL = 4,
};

/* Bodies are given in the order of their fields; see frame.h for the types. */
enum wire_type {
	/* supervisor -> worker */
	WIRE_WORKER_INIT = 1,	/* u32 version, u8 kind, str name, u64
				   max_message, u8 log_level, u64 budget */
	WIRE_WORKER_PING = 2,	/* u64 n */
	WIRE_SERVER_START = 10, /* u32 server, str tool, u8 kind, u8 era_hint,
				   u64 probe_us; fds: stdin, stdout, stderr */
	WIRE_SERVER_STOP = 11,	/* u32 server: write nothing more, end stdin */
	WIRE_SERVER_GONE = 12,	/* u32 server: its tree is dead; drain it */
	WIRE_CALL = 20,		/* u64 attempt, u32 server, str function, str
				   key, u8 progress, str traceparent;
				   payload: arguments (may be empty) */
	WIRE_CALL_CANCEL = 21,	/* u64 attempt, str reason, u8 stop_server */

	/* worker -> supervisor */
	WIRE_WORKER_READY = 40,	  /* u32 version, u32 pid */
	WIRE_WORKER_PONG = 41,	  /* u64 n */
	WIRE_WORKER_LOG = 42,	  /* u8 level, str line */
	WIRE_SERVER_READY = 50,	  /* u32 server, str era, str name, str
				   version */
	WIRE_SERVER_FUNCTION = 51, /* u32 server, u32 generation, str name,
				   u8 hints[4] read_only destructive idempotent
				   open_world (enum wire_hint), u8 honours_key,
				   u8 resume, str refused (why not callable, or
				   empty); payload: the function as listed */
	WIRE_SERVER_LISTED = 52,  /* u32 server, u32 generation, u32 count,
				   str problem (empty: none) */
	WIRE_SERVER_FAILED = 53,  /* u32 server, u8 why (enum
				   wire_server_fault), str message: the
				   supervisor stops it */
	WIRE_SERVER_STDERR = 54,  /* u32 server; payload: bytes of stderr */
	WIRE_SERVER_DRAINED = 55, /* u32 server: all it wrote was seen */
	WIRE_SERVER_NOISE = 56,	  /* u32 server, u8 what (enum wire_noise),
				   u64 count since the last one, str sample */
	WIRE_CALL_SENT = 60,	  /* u64 attempt: its first byte was written;
				   left out when CALL_END comes within 20 ms */
	WIRE_CALL_PROGRESS = 61,  /* u64 attempt, f64 progress, u8 has_total,
				   f64 total */
	WIRE_CALL_END = 62,	  /* u64 attempt, u8 how (enum wire_end), u8
				   sent, u8 after_cancel, u8 is_error, u8
				   busy (enum wire_busy), f64 retry_after
				   (-1: none), i64 code, u32
				   dropped_progress, str message; payload:
				   the result or the error as written */
	WIRE_CALL_CANCEL_SENT = 63, /* u64 attempt, u8 written (0: stdin did not
				   take it, or the call was never sent) */

	/* supervisor -> oz0-sandbox */
	WIRE_SANDBOX_PLAN = 100,   /* u8 has_filter; payload: the plan as JSON;
				   fds: stdin, stdout, stderr, and the seccomp
				   program as a memfd where has_filter */
	WIRE_SANDBOX_SIGNAL = 101, /* u32 signo, u8 all (whole tree or the main
				   child) */
	WIRE_SANDBOX_SPAWN = 102,  /* u32 id, u8 tty; payload: {"argv":[],"env":
				   {},"cwd":""}; fds: stdin, stdout, stderr */

	/* oz0-sandbox -> supervisor */
	WIRE_SANDBOX_BORN = 120,    /* u32 pid, as the helper sees it; fds:
				   pidfd */
	WIRE_SANDBOX_STARTED = 121, /* u32 pid (in its namespace), str missing
				   (layers left out under "best") */
	WIRE_SANDBOX_FAILED = 122,  /* str stage, u32 errno, str message */
	WIRE_SANDBOX_EXITED = 123,  /* u8 by_signal, u32 code_or_signal, u32 id
				   (0: the main child; else a spawned one) */

	/* supervisor -> oz0-journal */
	WIRE_JOURNAL_INIT = 140,  /* u32 version, u64 keep_jobs_us, u8 sync,
				   u64 segment_size; fds: the state directory */
	WIRE_JOURNAL_QUERY = 141, /* u64 id, u8 what (enum wire_query), str job,
				   u64 since, u32 limit */
	/* 142 was JOURNAL_FORGET; REC_FORGET says it now */
	WIRE_JOURNAL_SYNC = 143,  /* u64 seq: tell when it is on the disk */
	WIRE_JOURNAL_PING = 144,  /* u64 n */
	WIRE_JOURNAL_ROTATED = 145, /* u64 segment now written to */

	/* oz0-journal -> supervisor */
	WIRE_JOURNAL_READY = 160,   /* u64 last_seq, u64 last_call,
				   u64 last_attempt */
	WIRE_JOURNAL_SEGMENT = 161, /* u64 number; fds: the segment, zeroed and
				   preallocated, open for writing */
	WIRE_JOURNAL_NO_SPACE = 162, /* u32 errno, str message */
	WIRE_RECOVER_JOB = 163,	    /* payload: record REC_JOB */
	WIRE_RECOVER_SESSION = 164, /* payload: record REC_SESSION */
	WIRE_RECOVER_CALL = 165,    /* payload: record REC_CALL, then for an
				   ended one its REC_CALL_END */
	WIRE_RECOVER_CHILD = 166,   /* payload: record REC_CHILD */
	WIRE_RECOVER_DONE = 167,    /* empty */
	WIRE_JOURNAL_ROW = 168,	    /* u64 id; payload: a step as JSON */
	WIRE_JOURNAL_END = 169,	    /* u64 id, u32 errno, str message, u8
				   more */
	WIRE_JOURNAL_SYNCED = 170,  /* u64 seq */
	WIRE_JOURNAL_PONG = 171,    /* u64 n */
	WIRE_JOURNAL_LOG = 172,	    /* u8 level, str line */
	WIRE_RECOVER_TOOL = 173,    /* payload: record REC_TOOL */
	WIRE_RECOVER_APPROVAL = 174, /* payload: record REC_APPROVAL */
	WIRE_JOURNAL_SYNC_FAILED = 175, /* u32 errno, str message: no SYNCED
				   comes any more */
};

enum wire_worker_kind {
	WIRE_WORKER_SESSION = 1,
	WIRE_WORKER_PLUGINS = 2,
	WIRE_WORKER_REMOTE = 3,
};

enum wire_server_kind {
	WIRE_SERVER_JOB = 1,
	WIRE_SERVER_PLUGIN = 2,
};

enum wire_hint {
	WIRE_HINT_ABSENT = 0,
	WIRE_HINT_FALSE = 1,
	WIRE_HINT_TRUE = 2,
};

/* era_hint of WIRE_SERVER_START */
enum wire_era {
	WIRE_ERA_UNKNOWN = 0,
	WIRE_ERA_MODERN = 1,
	WIRE_ERA_LEGACY = 2,
};

enum wire_server_fault {
	WIRE_FAULT_EOF = 1,	   /* stdout ended, while it was starting or
				      later, and nobody had stopped it */
	WIRE_FAULT_PROBE_EOF = 2,  /* it ended on server/discover: start it once
				      more with era_hint legacy */
	WIRE_FAULT_HANDSHAKE = 3,  /* no version in common, initialize failed */
	WIRE_FAULT_BROKEN = 4,	   /* noise without end (L3.7b) */
	WIRE_FAULT_LISTING = 5,	   /* tools/list failed or has no end */
	WIRE_FAULT_INPUT = 6,	   /* it closed its stdin, and lives */
};

enum wire_noise {
	WIRE_NOISE_NOT_JSON = 1,
	WIRE_NOISE_UTF8 = 2,
	WIRE_NOISE_NOT_RPC = 3,
	WIRE_NOISE_UNKNOWN_ID = 4,
	WIRE_NOISE_TWICE = 5,
	WIRE_NOISE_TOO_LONG = 6,
	WIRE_NOISE_REQUEST = 7, /* a server request in the modern era */
	WIRE_NOISE_PROGRESS = 8,
	WIRE_NOISE_LATE = 9,
};

/* How the worker saw an attempt end; L3.7 says what it means. */
enum wire_end {
	WIRE_END_RESULT = 1,	    /* payload: result */
	WIRE_END_RPC_ERROR = 2,	    /* payload: error object; code */
	WIRE_END_BAD_ANSWER = 3,    /* a broken answer to this very id */
	WIRE_END_TOO_LARGE = 4,	    /* over max_message */
	WIRE_END_INPUT_REQUIRED = 5, /* asks for input never offered, or for
				       more than 10 rounds */
	WIRE_END_SERVER = 6,	    /* the server ended or broke */
	WIRE_END_CANCELED = 7,	    /* cancelled before a byte was sent */
};

/* "oz0/retryable" and "oz0/retry_after" of an error result (L4.1) */
enum wire_busy {
	WIRE_BUSY_NO = 0,
	WIRE_BUSY_YES = 1,
	WIRE_BUSY_BAD_WAIT = 2, /* busy, with a wait that is none */
	WIRE_BUSY_BAD_FLAG = 3, /* oz0/retryable is no true or false: no */
};

enum wire_query {
	WIRE_QUERY_TRACE = 1,  /* steps of a job from seq on, oldest first */
	WIRE_QUERY_EVENTS = 2, /* every step of the node from seq on */
	WIRE_QUERY_JOB = 3,    /* one row: the past job, as `oz0 status JOB` */
	WIRE_QUERY_CALL = 4,   /* job holds the call's name: "c12" */
	WIRE_QUERY_JOBS = 5,   /* one row a kept job that is not in memory */
	WIRE_QUERY_RESULT = 6, /* job holds the call's name: its kept answer */
};

struct wire_message {
	enum wire_type type;
	const char *name; /* "SERVER_START" */
	enum wire_role from;
	enum wire_role to;
	uint32_t min_body;
	uint32_t max_body;
	bool payload;
	uint8_t min_fds;
	uint8_t max_fds;
};

/* NULL: no such message. */
const struct wire_message *wire_message_find(uint16_t type);
const struct wire_message *wire_message_at(size_t i); /* NULL past the last */

#endif
