/*
 * The table of messages.  A frame is checked against it before any handler
 * sees it: number, direction, size of the body, payload, descriptors.
 */
#include "wire/message.h"

#define SUP WIRE_ROLE_SUPERVISOR
#define WKR WIRE_ROLE_WORKER
#define BOX WIRE_ROLE_SANDBOX
#define JNL WIRE_ROLE_JOURNAL
#define TEXT 8192 /* room for the strings of a body */

#define MSG(n, from, to, min, max, payload, fdmin, fdmax) \
	{ WIRE_##n, #n, from, to, min, max, payload, fdmin, fdmax }

static const struct wire_message messages[] = {
	/* name, from, to, body min, max, payload, descriptors min, max */
	MSG(WORKER_INIT, SUP, WKR, 26, TEXT, false, 0, 0),
	MSG(WORKER_PING, SUP, WKR, 8, 8, false, 0, 0),
	MSG(SERVER_START, SUP, WKR, 18, TEXT, false, 3, 3),
	MSG(SERVER_STOP, SUP, WKR, 4, 4, false, 0, 0),
	MSG(SERVER_GONE, SUP, WKR, 4, 4, false, 0, 0),
	MSG(CALL, SUP, WKR, 25, TEXT, true, 0, 0),
	MSG(CALL_CANCEL, SUP, WKR, 13, TEXT, false, 0, 0),

	MSG(WORKER_READY, WKR, SUP, 8, 8, false, 0, 0),
	MSG(WORKER_PONG, WKR, SUP, 8, 8, false, 0, 0),
	MSG(WORKER_LOG, WKR, SUP, 5, TEXT, false, 0, 0),
	MSG(SERVER_READY, WKR, SUP, 16, TEXT, false, 0, 0),
	MSG(SERVER_FUNCTION, WKR, SUP, 22, TEXT, true, 0, 0),
	MSG(SERVER_LISTED, WKR, SUP, 16, TEXT, false, 0, 0),
	MSG(SERVER_FAILED, WKR, SUP, 9, TEXT, false, 0, 0),
	MSG(SERVER_STDERR, WKR, SUP, 4, 4, true, 0, 0),
	MSG(SERVER_DRAINED, WKR, SUP, 4, 4, false, 0, 0),
	MSG(SERVER_NOISE, WKR, SUP, 17, TEXT, false, 0, 0),
	MSG(CALL_SENT, WKR, SUP, 8, 8, false, 0, 0),
	MSG(CALL_PROGRESS, WKR, SUP, 25, 25, false, 0, 0),
	MSG(CALL_END, WKR, SUP, 37, TEXT, true, 0, 0),
	MSG(CALL_CANCEL_SENT, WKR, SUP, 9, 9, false, 0, 0),

	MSG(SANDBOX_PLAN, SUP, BOX, 1, 1, true, 3, 4),
	MSG(SANDBOX_SIGNAL, SUP, BOX, 5, 5, false, 0, 0),
	MSG(SANDBOX_SPAWN, SUP, BOX, 5, 5, true, 3, 3),

	MSG(SANDBOX_BORN, BOX, SUP, 4, 4, false, 1, 1),
	MSG(SANDBOX_STARTED, BOX, SUP, 8, TEXT, false, 0, 0),
	MSG(SANDBOX_FAILED, BOX, SUP, 12, TEXT, false, 0, 0),
	MSG(SANDBOX_EXITED, BOX, SUP, 9, 9, false, 0, 0),

	MSG(JOURNAL_INIT, SUP, JNL, 21, 21, false, 1, 1),
	MSG(JOURNAL_QUERY, SUP, JNL, 25, TEXT, false, 0, 0),
	MSG(JOURNAL_SYNC, SUP, JNL, 8, 8, false, 0, 0),
	MSG(JOURNAL_PING, SUP, JNL, 8, 8, false, 0, 0),
	MSG(JOURNAL_ROTATED, SUP, JNL, 8, 8, false, 0, 0),

	MSG(JOURNAL_READY, JNL, SUP, 24, 24, false, 0, 0),
	MSG(JOURNAL_SEGMENT, JNL, SUP, 8, 8, false, 1, 1),
	MSG(JOURNAL_NO_SPACE, JNL, SUP, 8, TEXT, false, 0, 0),
	MSG(RECOVER_JOB, JNL, SUP, 0, 0, true, 0, 0),
	MSG(RECOVER_SESSION, JNL, SUP, 0, 0, true, 0, 0),
	MSG(RECOVER_CALL, JNL, SUP, 0, 0, true, 0, 0),
	MSG(RECOVER_CHILD, JNL, SUP, 0, 0, true, 0, 0),
	MSG(RECOVER_DONE, JNL, SUP, 0, 0, false, 0, 0),
	MSG(JOURNAL_ROW, JNL, SUP, 8, 8, true, 0, 0),
	MSG(JOURNAL_END, JNL, SUP, 17, TEXT, false, 0, 0),
	MSG(JOURNAL_SYNCED, JNL, SUP, 8, 8, false, 0, 0),
	MSG(JOURNAL_PONG, JNL, SUP, 8, 8, false, 0, 0),
	MSG(JOURNAL_LOG, JNL, SUP, 5, TEXT, false, 0, 0),
	MSG(RECOVER_TOOL, JNL, SUP, 0, 0, true, 0, 0),
	MSG(RECOVER_APPROVAL, JNL, SUP, 0, 0, true, 0, 0),
	MSG(JOURNAL_SYNC_FAILED, JNL, SUP, 8, TEXT, false, 0, 0),
};

#define NMESSAGES (sizeof(messages) / sizeof(messages[0]))

const struct wire_message *
wire_message_find(uint16_t type)
{
	for (size_t i = 0; i < NMESSAGES; i++)
		if (messages[i].type == type)
			return &messages[i];
	return NULL;
}

const struct wire_message *
wire_message_at(size_t i)
{
	return i < NMESSAGES ? &messages[i] : NULL;
}
