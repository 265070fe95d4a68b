/*
 * The life of one call, as the supervisor leads it (LIFECYCLE L1, L3, L6, L9),
 * with the worker, the server and the people around it.  run.sh checks it with
 * spin: for both kinds of server and for calls that may and may not be made
 * again, for safety and for termination; and that each mutation of it fails.
 *
 * What is what:
 *	Supervisor	an event a step, then the log is written and what was
 *			decided leaves: FLUSH (supervisor.h, one turn).  A kill
 *			-9 may come before the flush: then nothing of the step
 *			was recorded, sent or shown.
 *	Worker, Server	the world.  A server works on a request until it
 *			answers, gives up on a cancel, or dies; it may as well
 *			ignore the cancel or hang.
 *	Env		what people and the machine do: at most FAULTS of
 *			cancel of the call or its job, kill switch, policy
 *			change, kill -9 of supervisor, worker or server, a worker
 *			that hangs.  A call that was lost is started again once.
 *
 * Assumed: SIGKILL ends a process (L1.4b is another matter), a timer that was
 * set fires.  Time itself is left out: whatever waits for time may happen at
 * any moment, which is more than can happen.
 *
 * The kind of server and whether the call may be made again are chosen at the
 * start, so that one search covers all four.  The environment names the rest:
 * FAULTS, and MUTATION, one of those below.
 */
#define MAX_ATTEMPTS 2

c_decl {
\#include <stdlib.h>

	static int
	number(const char *name)
	{
		const char *text = getenv(name);

		return text == NULL ? 0 : atoi(text);
	}
}

/* ---- mutations: each must make a check fail ---- */
#define M_RETRY_BEFORE_STOPPED	1 /* time limit: no wait for the stop */
#define M_CANCEL_SHOWN_EARLY	2 /* CANCELED when the cancel was sent */
#define M_END_TWICE		3 /* a late answer ends the call again */
#define M_JOB_CANCELED_EARLY	4 /* job CANCELED while its server lives */
#define M_ANSWER_IS_RECEIPT	5 /* job server: an answer counts as stopped */
#define M_SEND_BEFORE_RECORD	6 /* the request leaves before the log */
#define M_NO_TIME_LIMIT		7 /* a hung server is waited for */
#define M_RETRY_WHEN_CANCELED	8 /* a canceled attempt is made again */
#define M_WORKER_GONE_READY	9 /* worker gone: its server stays ready */
#define M_START_BEFORE_DEAD	10 /* oz0d starts beside the old processes */
#define M_REPEAT_ONCE		11 /* sent once, and yet sent again */
#define M_HUNG_WORKER_WAITS	12 /* no pings: a hung worker is waited for */
#define M_WORKER_NOT_ASKED	13 /* "not sent", though its worker is dead */

mtype = {
	/* states of a call: enum call_state, call_table.c */
	NONE, QUEUED, WAITING_APPROVAL, RUNNING, WAITING_RETRY, CANCELLING,
	COMPLETED, FAILED, REFUSED, CANCELED, LOST,
	/* states of its job: enum job_state */
	J_RUNNING, J_CANCELLING, J_CANCELED, J_LOST,
	/* states of a server: server.c */
	S_STOPPED, S_STARTING, S_READY, S_STOPPING, S_BACKOFF,
	/* outcome, and why an attempt is being stopped */
	NOT_MADE, MADE, UNKNOWN,
	W_NONE, W_TIMEOUT, W_CANCELED, W_KILLED,
	/* how an attempt stopped */
	ST_NONE, ST_GONE, ST_ANSWERED, ST_NOT_CONFIRMED,
	/* policy */
	ALLOW, REFUSE, ASK,
	/* messages */
	CALL, CANCEL, GONE, START, SENT, ANSWER, BUSY, ERROR, READY, DRAINED
};

/* ---- what is checked ---- */
byte mutation, max_faults;
bool is_job, repeatable;

/* ---- the supervisor's memory; lost when it is killed ---- */
mtype cs = NONE;	/* the call's state */
mtype js = J_RUNNING;	/* its job's */
mtype server = S_STOPPED;	/* its server's */
mtype outcome = NOT_MADE;
mtype why = W_NONE;
mtype stopped = ST_NONE;
byte attempts = 0;
byte id = 0;		/* of the last attempt, never given twice */
bool att = false;	/* an attempt runs */
bool stopping = false;	/* and is being stopped */
bool was_sent = false;	/* a byte of it was written, the worker says */
bool was_late = false;	/* an answer came after the cancel */
bool at_worker = false;	/* the worker has the server's descriptors */
bool approved = false;
bool closing = false;	/* its link is closed, or it was told to end */
bool died = false;	/* the end of the tree was seen */
bool failure = false;	/* this start of the server failed */

/* ---- what this turn decided, and has not left yet ---- */
bool put_call = false, put_cancel = false, put_start = false;
bool put_gone = false, put_launch = false;
byte ended_now = 0;	/* ends of the call decided in this turn */

/* ---- the log (wire/log.c): what a kill -9 leaves ---- */
mtype r_cs = NONE, r_outcome = NOT_MADE, r_js = J_RUNNING;
byte r_attempts = 0, r_id = 0;

/* ---- the world ---- */
bool up = true;		/* oz0d runs */
bool worker = true, hung = false;
bool tree = false;	/* processes of the server live */
byte working = 0;	/* the attempt it works on; 0: none */
bool told = false;	/* it read the cancel */
bool killed = false;	/* kill switch, durable (REC_TOOL) */
mtype policy = ALLOW;
chan to_worker = [6] of { mtype, byte };
chan from_worker = [3] of { mtype, byte };
chan to_server = [2] of { mtype, byte };
chan from_server = [2] of { mtype, byte };
byte faults = 0;
bool again = false;	/* it was started again after it was lost */
byte shown_ends = 0;	/* ends of this call that anybody was shown */
bool lingers = false;	/* a plugin did not confirm a stop: L3.4's exception */
byte requests = 0;	/* that a server has read, over all its lives */
bool detached = false;	/* L9.2: its worker died, its server is being stopped */
bool deaf = false;	/* the server hangs: no answer, no end, for ever */

#define ENDED(s) (s == COMPLETED || s == FAILED || s == REFUSED || \
    s == CANCELED || s == LOST)
#define OPEN(s) (s != NONE && !ENDED(s))
/* call_set() and call_table.c: cells that are not written cannot happen. */
#define MAY(to) ( \
    (cs == QUEUED && (to == RUNNING || to == WAITING_RETRY || \
	to == WAITING_APPROVAL || to == FAILED || to == REFUSED || \
	to == CANCELED || to == LOST)) || \
    (cs == WAITING_APPROVAL && (to == QUEUED || to == FAILED || \
	to == REFUSED || to == CANCELED || to == LOST)) || \
    (cs == RUNNING && (to == WAITING_RETRY || to == CANCELLING || \
	to == COMPLETED || to == FAILED || to == LOST)) || \
    (cs == WAITING_RETRY && (to == QUEUED || to == FAILED || \
	to == REFUSED || to == CANCELED || to == LOST)) || \
    (cs == CANCELLING && (to == CANCELLING || to == WAITING_RETRY || \
	to == FAILED || to == CANCELED || to == LOST)))

inline set(to)
{
	assert(MAY(to));
	cs = to;
}

/* call_end.c, call_end(): recorded, then shown. */
inline call_end(to)
{
	set(to);
	ended_now++;
}

/*
 * The end of a turn: record_flush(), then process_flush() and
 * control_flush().  Here alone a thing is shown or sent, and here the promises
 * of LIFECYCLE are looked at.
 */
inline flush()
{
	r_cs = cs;
	r_js = js;
	r_outcome = (att -> UNKNOWN : outcome); /* record_started() */
	r_attempts = attempts;
	r_id = id;
	send();
	shown_ends = shown_ends + ended_now;
	ended_now = 0;
	assert(shown_ends <= 1);		/* one end per call */
	/* L1.3, L1.4: CANCELED never before it has stopped */
	assert(!(cs == CANCELED && att));
	assert(!(cs == CANCELED && is_job && working != 0 && !detached));
	assert(!(cs == CANCELED && stopped == ST_ANSWERED && working != 0));
	assert(!(js == J_CANCELED && (OPEN(cs) || (is_job && tree))));
	assert(attempts <= MAX_ATTEMPTS)	/* L3.2 */
}

inline send()
{
	if
	:: put_launch -> tree = true; server_empty()
	:: else
	fi;
	if
	:: put_start && worker -> to_worker!START(0)
	:: else
	fi;
	if
	:: put_call && worker -> to_worker!CALL(id)
	:: else
	fi;
	if
	:: put_cancel && worker -> to_worker!CANCEL(id)
	:: else
	fi;
	if
	:: put_gone && worker -> to_worker!GONE(0)
	:: else
	fi;
	put_launch = false; put_start = false; put_call = false;
	put_cancel = false; put_gone = false
}

/* ---- servers: server.c ---- */

/* server_want(): E(WANT).  The launch is recorded before it (REC_CHILD). */
inline want()
{
	assert(!tree);
	server = S_STARTING; put_launch = true; failure = false;
	died = false;
	/* server_start(): a fresh worker where there is none (L9.2) */
	if
	:: !worker ->
		worker = true; hung = false; closing = false;
		empty_channels()
	:: else
	fi;
	at_worker = true; put_start = true
}

/* What a tree was working on and had not read is gone with it. */
inline server_empty()
{
	working = 0; told = false; deaf = false;
	do
	:: len(to_server) > 0 -> to_server?_,_
	:: len(to_server) == 0 -> break
	od
}

/* What a worker knew is gone with it; a server's answers too. */
inline empty_channels()
{
	do
	:: len(to_worker) > 0 -> to_worker?_,_
	:: len(from_worker) > 0 -> from_worker?_,_
	:: len(to_server) > 0 -> to_server?_,_
	:: len(from_server) > 0 -> from_server?_,_
	:: len(to_worker) == 0 && len(from_worker) == 0 && len(to_server) == 0 &&
	    len(from_server) == 0 -> break
	od
}

/* begin_stopping(): stdin, SIGTERM, SIGKILL; the climb is Server's death. */
inline stop_server()
{
	if
	:: server == S_STARTING || server == S_READY -> server = S_STOPPING
	:: else
	fi
}

/* ---- retry.c ---- */

#define MAY_GO_ON (attempts < MAX_ATTEMPTS && js == J_RUNNING)

/* wait_for_next() */
inline retry()
{
	set(WAITING_RETRY)
}

/* call_after_attempt(): the verdict `then` of L3.7, for what kept running. */
inline after_attempt(next)
{
	if
	:: cs == CANCELLING -> after_stop()
	:: cs != CANCELLING && next && MAY_GO_ON -> retry()
	:: else -> call_end(FAILED)
	fi
}

/* after_stop(): L1.10 */
inline after_stop()
{
	if
	:: why == W_TIMEOUT && repeatable && MAY_GO_ON -> retry()
	:: why == W_TIMEOUT && !(repeatable && MAY_GO_ON) ->
		if
		:: mutation == M_REPEAT_ONCE && MAY_GO_ON -> retry()
		:: else -> call_end(FAILED)
		fi
	:: mutation == M_RETRY_WHEN_CANCELED && why == W_CANCELED &&
	    attempts < MAX_ATTEMPTS -> retry()
	:: else -> call_end(CANCELED)
	fi
}

/* ---- attempt.c ---- */

/* detach() */
inline detach()
{
	att = false; stopping = false
}

/* attempt_start(): recorded before the request is written (L2.6, L3.4). */
inline attempt_start()
{
	assert(!att);
	/* L3.4: the world does not work on an earlier one, but where a shared
	 * server did not confirm its stop */
	assert(working == 0 || (!is_job && lingers));
	attempts++;
	id++;
	att = true; stopping = false; was_sent = false; was_late = false;
	why = W_NONE; stopped = ST_NONE;
	set(RUNNING);
	put_call = true; detached = false;
	if
	:: mutation == M_SEND_BEFORE_RECORD && tree ->
		to_server!CALL(id); put_call = false
	:: else
	fi
}

/* attempt_stop(): L1.2; a job's own server is stopped too. */
inline attempt_stop(reason)
{
	stopping = true;
	why = reason;
	set(CANCELLING);
	put_cancel = true;
	if
	:: mutation == M_CANCEL_SHOWN_EARLY && reason == W_CANCELED ->
		stopped = ST_NONE; detach(); call_end(CANCELED)
	:: mutation == M_RETRY_BEFORE_STOPPED && reason == W_TIMEOUT &&
	    repeatable && MAY_GO_ON ->
		detach(); retry()
	:: else
	fi;
	if
	:: is_job && mutation != M_RETRY_BEFORE_STOPPED -> stop_server()
	:: else
	fi
}

/* stopped() */
inline has_stopped(how)
{
	assert(!is_job || !tree);	/* L1.4: only its death counts */
	stopped = how;
	outcome = (was_late -> MADE : (was_sent -> UNKNOWN : NOT_MADE));
	if
	:: how == ST_NOT_CONFIRMED -> lingers = true
	:: else
	fi;
	detach();
	after_stop()
}

/* attempt_ended(): the worker's report of an end. */
inline attempt_ended(what)
{
	if
	:: stopping ->			/* ended_while_stopping() */
		was_sent = true; was_late = (what == ANSWER);
		if
		:: !is_job -> has_stopped(ST_ANSWERED)
		:: is_job && mutation == M_ANSWER_IS_RECEIPT ->
			has_stopped(ST_ANSWERED)
		:: else			/* only the tree's death (L1.4) */
		fi
	:: !stopping && what == ANSWER ->
		outcome = MADE; detach(); call_end(COMPLETED)
	:: !stopping && what == BUSY ->	/* after_busy(): L4.2 */
		outcome = NOT_MADE; detach();
		if
		:: repeatable && MAY_GO_ON -> retry()
		:: else -> call_end(COMPLETED)
		fi
	:: !stopping && what == ERROR ->	/* other JSON-RPC error, bad answer */
		outcome = UNKNOWN; detach(); after_attempt(repeatable)
	fi
}

/* calls_server_gone() */
inline server_gone()
{
	if
	:: att && stopping -> has_stopped(ST_GONE)
	:: att && !stopping && was_sent ->	/* RESULT_SERVER_ENDED */
		outcome = UNKNOWN; detach(); after_attempt(repeatable)
	:: att && !stopping && !was_sent -> /* RESULT_NOT_SENT */
		outcome = NOT_MADE; detach(); after_attempt(true)
	:: else
	fi
}

/* calls_server_failed(): L3.7, last row; it counts as an attempt. */
inline server_failed()
{
	if
	:: cs == QUEUED ->
		attempts++; outcome = NOT_MADE;
		if
		:: MAY_GO_ON -> retry()
		:: else -> call_end(FAILED)
		fi
	:: else
	fi
}

/* server.c, finish(): dead and drained. */
inline finish()
{
	server = (is_job -> S_STOPPED : S_BACKOFF);
	at_worker = false; died = false;
	if
	:: failure -> failure = false; server_failed()
	:: else -> server_gone()
	fi
}

/* calls_worker_gone(): nobody will say what it wrote, or what came back. */
inline calls_worker_gone()
{
	was_sent = true;
	if
	:: att && !stopping ->
		detached = is_job;
		outcome = UNKNOWN; detach(); after_attempt(repeatable)
	:: else
	fi
}

/* server.c, drain(): its worker sees all that it wrote, where there is one. */
inline drain()
{
	if
	:: at_worker && !closing -> put_gone = true
	:: at_worker && closing ->
		at_worker = false;
		if
		:: mutation == M_WORKER_NOT_ASKED
		:: else -> calls_worker_gone()
		fi;
		finish()
	:: !at_worker -> finish()
	fi
}

/* server_worker_gone(): L9.2 */
inline worker_gone()
{
	at_worker = false;
	if
	:: server == S_STARTING -> failure = true
	:: else
	fi;
	calls_worker_gone();
	if
	:: mutation == M_WORKER_GONE_READY
	:: mutation != M_WORKER_GONE_READY && died && server != S_STOPPED &&
	    server != S_BACKOFF -> finish()
	:: else -> stop_server()
	fi
}

/* ---- what people do ---- */

/* call_stop(): L1.10; what waits ends at once. */
inline call_stop(reason)
{
	if
	:: att && !stopping -> attempt_stop(reason)
	:: att && stopping -> why = reason	/* a timeout gives way */
	:: !att && OPEN(cs) && reason == W_KILLED -> call_end(REFUSED)
	:: !att && OPEN(cs) && reason != W_KILLED -> call_end(CANCELED)
	:: else
	fi
}

/* policy_gate.c: asked before each attempt (L6.2, L3.6). */
inline dispatch()
{
	if
	:: killed || policy == REFUSE -> call_end(REFUSED)
	:: !killed && policy == ASK && !approved ->
		if
		:: attempts == 0 -> set(WAITING_APPROVAL)
		:: else -> call_end(REFUSED)		/* approval_needed */
		fi
	:: !killed && (policy == ALLOW || (policy == ASK && approved)) ->
		if
		:: server == S_READY -> attempt_start()
		:: else -> want()
		fi
	fi
}

/* recover.c, lose_call(): L9.1 */
inline recover()
{
	att = false; stopping = false; was_sent = false; was_late = false;
	at_worker = false; closing = false; approved = false; died = false;
	failure = false; detached = false;
	server = S_STOPPED; stopped = ST_NONE; why = W_NONE;
	put_call = false; put_cancel = false; put_start = false;
	put_gone = false; put_launch = false; ended_now = 0;
	cs = r_cs; js = r_js; attempts = r_attempts; id = r_id;
	outcome = r_outcome;
	if
	:: OPEN(cs) ->
		outcome = ((attempts == 0 || outcome == NOT_MADE) ->
		    NOT_MADE : UNKNOWN);
		cs = QUEUED; /* recover_call() */
		call_end(LOST)
	:: else
	fi;
	if
	:: js == J_RUNNING || js == J_CANCELLING -> js = J_LOST
	:: else
	fi;
	worker = true; hung = false; lingers = false;
	up = true
}

/* kill -9 of oz0d within a turn: nothing of the turn was written. */
inline crash_or_flush()
{
	if
	:: flush()
	:: up && faults < max_faults -> faults++; crash()
	fi
}

inline flush_if_up()
{
	if
	:: up -> flush()
	:: else
	fi
}

/* Its children see the end of their sockets (SESSION, parent death). */
inline crash()
{
	up = false
}

proctype Supervisor()
{
	byte n;
	mtype what;

end_idle:
	do
	:: atomic { if
	/* call_start(): admission, then queue_put() */
	:: up && cs == NONE && js == J_RUNNING ->
		if
		:: killed || policy == REFUSE ->
			cs = QUEUED; call_end(REFUSED)
		:: else -> cs = QUEUED
		fi
	/* L2.2: a call that was lost is made again under its key */
	:: up && cs == LOST && js == J_LOST && !again &&
	    (repeatable || outcome == NOT_MADE) ->
		again = true; js = J_RUNNING; cs = QUEUED; attempts = 0;
		outcome = NOT_MADE; shown_ends = 0
	/* dispatch_turn(); not while its server starts or stops */
	:: up && cs == QUEUED && server != S_STARTING &&
	    server != S_STOPPING ->
		dispatch()
	/* attempt_due(), first time: the time limit */
	:: up && att && !stopping && mutation != M_NO_TIME_LIMIT ->
		attempt_stop(W_TIMEOUT)
	/* attempt_due(), second time: the time for stopping is over */
	:: up && att && stopping && !is_job ->
		has_stopped(ST_NOT_CONFIRMED)
	/* call_retry_due() */
	:: up && cs == WAITING_RETRY ->
		set(QUEUED)
	/* approval_timeout; an approval is Env's */
	:: up && cs == WAITING_APPROVAL ->
		call_end(REFUSED)
	/* call_limit_due(): call_timeout, only while no attempt runs */
	:: up && (cs == WAITING_RETRY || (cs == QUEUED &&
	    attempts > 0)) ->
		call_end(FAILED)
	/* start_too_slow() */
	:: up && server == S_STARTING ->
		failure = true; stop_server()
	/* a worker's report (worker_frame.c) */
	:: up && len(from_worker) > 0 ->
		from_worker?what,n;
		if
		:: what == SENT && att && n == id -> was_sent = true
		:: (what == ANSWER || what == BUSY || what == ERROR) &&
		    att && n == id -> attempt_ended(what)
		:: (what == ANSWER || what == BUSY || what == ERROR) &&
		    !(att && n == id) ->
			/* own_attempt(): given up, nobody's now */
			if
			:: mutation == M_END_TWICE && n == id &&
			    stopped == ST_NOT_CONFIRMED -> ended_now++
			:: else
			fi
		:: what == READY && server == S_STARTING -> server = S_READY
		:: what == DRAINED && died && server == S_STOPPING -> finish()
		:: else
		fi;
		what = NONE; n = 0
	/* box.c: the init's pidfd is readable, no process of it is left */
	:: up && !tree && !put_launch && !died &&
	    (server == S_STARTING || server == S_READY || server == S_STOPPING) ->
		died = true;
		if
		:: server == S_STARTING -> failure = true
		:: else
		fi;
		server = S_STOPPING;
		drain()
	/* worker.c, died(), once all that it wrote is read (link_drain()) */
	:: up && !worker && at_worker && len(from_worker) == 0 ->
		empty_channels(); closing = false;
		worker_gone();
		if
		:: mutation == M_WORKER_GONE_READY ->
			worker = true; at_worker = true
		:: else
		fi
	/* ping(): hung, so it is ended */
	:: up && worker && hung && mutation != M_HUNG_WORKER_WAITS ->
		worker = false; hung = false; closing = true
	/* worker_closed(): the end of its link, after all that it wrote */
	:: up && !worker && at_worker && !closing &&
	    len(from_worker) == 0 -> closing = true
	/* jobs_settle(), settle(): L1.3 */
	:: up && js == J_CANCELLING && !OPEN(cs) &&
	    (mutation == M_JOB_CANCELED_EARLY || !is_job ||
		server == S_STOPPED) ->
		js = J_CANCELED
	/* the session's servers are stopped with it (close_sessions()) */
	:: up && js == J_CANCELLING && is_job &&
	    (server == S_STARTING || server == S_READY) ->
		stop_server()
	/* lock.c, leftover.c: waits for the last of the old ones */
	:: !up && ((!tree && !worker) ||
	    mutation == M_START_BEFORE_DEAD) ->
		empty_channels();
		recover()
	fi; crash_or_flush() }
	od
}

/* oz0-worker: worker/server.c.  Hung, it does nothing at all. */
proctype Worker()
{
	byte n;
	mtype what;

end_idle:
	do
	:: atomic { worker && !hung && up && len(to_worker) > 0 &&
	    len(from_worker) < 3 ->
		to_worker?what,n;
		if
		:: what == START && tree -> from_worker!READY(0)
		:: what == CALL && tree && len(to_server) < 2 ->
			to_server!CALL(n);
			if
			:: from_worker!SENT(n)
			:: faults < max_faults ->	/* killed before it says so */
				faults++; worker = false
			fi
		:: what == CANCEL && tree && len(to_server) < 2 ->
			to_server!CANCEL(n)
		:: what == GONE ->	/* all that it wrote is seen first */
			if
			:: len(from_server) > 0 ->
				from_server?what,n;
				from_worker!what(n);
				to_worker!GONE(0)
			:: else -> from_worker!DRAINED(0)
			fi
		:: else
		fi;
		what = NONE; n = 0 }
	:: atomic { worker && !hung && up && len(from_server) > 0 &&
	    len(from_worker) < 3 ->
		from_server?what,n; from_worker!what(n);
		what = NONE; n = 0 }
	/* the supervisor is gone: its link is closed */
	:: atomic { worker && !up -> worker = false; hung = false }
	od
}

/* The server in its sandbox. */
proctype Server()
{
	byte n;
	mtype what;

end_idle:
	do
	:: atomic { tree && !deaf && len(to_server) > 0 ->
		to_server?what,n;
		if
		:: what == CALL ->
			/* L3.4, as the server sees it */
			assert(working == 0 || (!is_job && lingers));
			requests++;
			/* L3.1: what is sent once is read once */
			assert(repeatable || requests <= 1);
			working = n; told = false
		:: what == CANCEL && n == working -> told = true
		:: else
		fi;
		what = NONE; n = 0 }
	/* it answers, in time or late */
	:: atomic { tree && working != 0 && !deaf && len(from_server) < 2 ->
		if
		:: from_server!ANSWER(working)
		:: from_server!BUSY(working)
		:: from_server!ERROR(working)
		fi;
		working = 0; told = false }
	/* it gives up, as MCP asks: no answer */
	:: atomic { tree && working != 0 && told && !deaf ->
		working = 0; told = false }
	/* it hangs for ever, whatever it is told */
	:: atomic { tree && working != 0 && !deaf -> deaf = true }
	/* the ladder of a stop, its last rung at the latest (box_kill()) */
	:: atomic { tree && server == S_STOPPING && up ->
		tree = false; server_empty() }
	/* its init sees that oz0d is gone */
	:: atomic { tree && !up ->
		tree = false; server_empty() }
	od
}

/* What may happen at any time, max_faults times at most. */
proctype Env()
{
	do
	:: atomic { if
	:: up && OPEN(cs) && faults < max_faults ->	/* oz0 cancel c1 */
		faults++; call_stop(W_CANCELED)
	:: up && js == J_RUNNING && cs != NONE && faults < max_faults ->
		faults++; js = J_CANCELLING;	/* job_cancel() */
		call_stop(W_CANCELED)
	:: up && !killed && faults < max_faults ->		/* oz0 kill */
		faults++; killed = true; call_stop(W_KILLED)
	:: faults < max_faults ->
		faults++; approved = false;		/* policy/set, SIGHUP */
		if
		:: policy = ALLOW
		:: policy = REFUSE
		:: policy = ASK
		fi
	:: up && cs == WAITING_APPROVAL ->	/* oz0 approve */
		approved = true; set(QUEUED)
	:: up && faults < max_faults ->		/* kill -9 of oz0d */
		faults++; crash()
	:: up && worker && faults < max_faults ->	/* of the worker */
		faults++; worker = false; hung = false
	:: up && worker && !hung && faults < max_faults ->
		faults++; hung = true
	:: tree && faults < max_faults ->		/* of the server */
		faults++; tree = false; server_empty()
	fi; flush_if_up() }
	:: faults >= max_faults -> break
	:: true -> break
	od
}

init
{
	atomic {
		c_code {
			now.mutation = number("MUTATION");
			now.max_faults = number("FAULTS");
		};
		if
		:: is_job = true
		:: is_job = false
		fi;
		if
		:: repeatable = true
		:: repeatable = false
		fi;
		run Supervisor(); run Worker(); run Server(); run Env()
	}
}

/* Every call ends; and a cancelled job gets to CANCELED (or is lost). */
ltl ends { [] (OPEN(r_cs) -> <> ENDED(r_cs)) }
ltl jobs { [] (r_js == J_CANCELLING ->
    <> (r_js == J_CANCELED || r_js == J_LOST)) }
