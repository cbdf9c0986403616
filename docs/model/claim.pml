/* The claim on one key, as package idempotency and its stores keep it: Begin,
 * Renew, Complete and Release by nonces, over a network that delays, loses and
 * repeats requests, by processes that pause and crash. README.md says what is
 * abstracted and what is checked.
 *
 * Time is ticks. Between two of them anything may happen in any order, and a
 * tick may come at any moment, so a step can be late by any time. A message
 * that is lost is one that is never delivered, a crash is a pause that does not
 * end.
 */

#define TTL 3      /* a claim's lease, in ticks of the store's clock */
#ifdef BAD_NO_MARGIN
#define WINDOW 3
#else
#define WINDOW 2   /* what its owner trusts: less, by the margin */
#endif
#define KEEP 2     /* the retention of a completed record */

/* Process 0 makes requests 0 and 1, process 1 makes request 2: a request is
 * known by its nonce. With three, an owner, a second one, and a third one that
 * takes what the first gave away can meet. */
#define NONCES 3
#define PROCESS(n) (n / 2)
#define NOBODY 7

#define ABSENT 0
#define CLAIMED 1
#define FREE 2     /* released: absent, except that its nonce is spent */
#define DONE 3

#define SILENCE 0
#define YES 1      /* granted, stored, released */
#define NO 2       /* another owns the key, or completed it, or the nonce is spent */

/* The store. It knows the key's last fence while the key is not absent. */
byte state, owner = NOBODY, fence, left;

/* The network. Copies of Begin that are under way; of the others as many as it
 * likes once they were sent. */
byte begins[NONCES];
bit renews[NONCES], completes[NONCES], releases[NONCES], undos[NONCES];

/* The processes. Each counts its windows down from before it sent. */
#define IDLE 0
#define ASKING 1
#define DOUBT 2
#define RUNNING 3
#define ENDING 4
byte phase[2], request[2], window[2], fresh[2];
byte answer[2], given[2], renewed[2];
#define VALID(p) (phase[p] == RUNNING && window[p] > 0)
#define WAITS(n, f) (request[PROCESS(n)] == n && phase[PROCESS(n)] == f)

/* What must never be, and what is remembered to see it. */
bit two_owners, fence_went_back, completion_overwritten, spent_nonce_granted;
byte top, held;                   /* the greatest fence granted; that an owner had */
byte spent = NOBODY, spentFor;    /* the last nonce undone, for one TTL or the next grant */

/* The store's clock may be ahead of ours by up to a tick within a TTL. */
inline arm() {
	if
	:: left < TTL -> left = TTL
	:: left < TTL - 1 -> left = TTL - 1
	:: left >= TTL - 1 -> skip
	fi
}

inline grant(n) {
#ifdef BAD_FENCE_FORGETS
	fence = (state == FREE -> fence + 1 : 1);
#else
	fence = top + 1;    /* the last one plus one, or the store's clock */
#endif
	fence_went_back = fence <= top;
	assert(!fence_went_back);
	spent_nonce_granted = spent == n && spentFor > 0;
	assert(!spent_nonce_granted);
	top = fence; spent = NOBODY; spentFor = 0;
	state = CLAIMED; owner = n; left = 0; arm()
}

inline leave(s, n, t) {
	completion_overwritten = state == DONE && !(s == DONE && owner == n);
	assert(!completion_overwritten);
	state = s; owner = n; left = t
}

inline tell(n, f, a) {
	if
	:: WAITS(n, f) -> answer[PROCESS(n)] = a
	:: else -> skip
	fi
}

/* The store answers the requests that carry nonce n, each in one step. */
proctype wire(byte n) {
end:	do
	:: atomic { begins[n] > 0 ->
		begins[n]--;
		if
		:: state == ABSENT || state == FREE && owner != n -> grant(n); tell(n, ASKING, YES)
		:: state == CLAIMED && owner == n -> arm(); tell(n, ASKING, YES) /* a copy of it */
		:: else -> tell(n, ASKING, NO)
		fi;
		if
		:: WAITS(n, ASKING) && answer[PROCESS(n)] == YES -> given[PROCESS(n)] = fence
		:: else -> skip
		fi }
	:: atomic { renews[n] ->
		if
		:: state == CLAIMED && owner == n -> arm();
			if
			:: WAITS(n, RUNNING) && fresh[PROCESS(n)] -> renewed[PROCESS(n)] = YES
			:: else -> skip
			fi
		:: else ->
			if
			:: WAITS(n, RUNNING) -> renewed[PROCESS(n)] = NO
			:: else -> skip
			fi
		fi }
	:: atomic { completes[n] ->
		if
#ifdef BAD_COMPLETE_WITHOUT_NONCE
		:: state != FREE -> leave(DONE, n, KEEP); tell(n, ENDING, YES)
		:: else -> tell(n, ENDING, NO)
#else
		:: state == ABSENT || state == CLAIMED && owner == n -> leave(DONE, n, KEEP); tell(n, ENDING, YES)
		:: state == DONE && owner == n -> tell(n, ENDING, YES)
		:: else -> tell(n, ENDING, NO)
#endif
		fi }
	:: atomic { releases[n] ->
		if
#ifdef BAD_UNOWNED_RELEASE
		:: state == CLAIMED -> leave(FREE, n, TTL); tell(n, ENDING, YES)
#else
		:: state == CLAIMED && owner == n -> leave(FREE, n, TTL); tell(n, ENDING, YES)
#endif
		:: state == FREE && owner == n -> tell(n, ENDING, YES)
		:: else -> tell(n, ENDING, NO)
		fi }
	:: atomic { undos[n] ->    /* a release that compensates */
		if
		:: state == CLAIMED && owner == n || state == FREE || state == ABSENT ->
#ifdef BAD_NO_STUB
			if
			:: state == CLAIMED -> state = ABSENT; owner = NOBODY; left = 0; fence = 0
			:: else -> skip
			fi;
#else
			leave(FREE, n, TTL);
#endif
			spent = n; spentFor = TTL
		:: else -> skip
		fi;
		tell(n, DOUBT, YES) }
	od
}

inline move(p, f) { phase[p] = f; answer[p] = SILENCE }

inline rest(p) { window[p] = 0; fresh[p] = 0; given[p] = 0; renewed[p] = SILENCE }

proctype process(byte p) {
	byte n = p * 2;
end:	do
	/* A request with a nonce of its own; the client library may send a copy. */
	:: atomic { phase[p] == IDLE && n < NONCES && PROCESS(n) == p ->
		request[p] = n; n++;
		if
		:: begins[request[p]] = 1
		:: begins[request[p]] = 2
		fi;
		window[p] = WINDOW;
		move(p, ASKING) }
	:: atomic { phase[p] == ASKING && answer[p] == NO -> rest(p); move(p, IDLE) }
	:: atomic { phase[p] == ASKING && answer[p] == YES ->
#ifdef BAD_WINDOW_FROM_REPLY
		window[p] = WINDOW;
#endif
		if
		:: window[p] > 0 ->
			move(p, RUNNING);
			two_owners = VALID(0) && VALID(1);
			assert(!two_owners);
			fence_went_back = given[p] <= held;
			assert(!fence_went_back);
			held = given[p]; given[p] = 0
		:: else -> undos[request[p]] = 1; rest(p); move(p, DOUBT) /* too late to be of use */
		fi }
	:: atomic { phase[p] == ASKING ->                           /* nobody waits any more */
		undos[request[p]] = 1; rest(p); move(p, DOUBT) }
	:: atomic { phase[p] == DOUBT && answer[p] == YES -> move(p, IDLE) }

	:: atomic { VALID(p) && fresh[p] == 0 && renewed[p] == SILENCE ->
		renews[request[p]] = 1; fresh[p] = WINDOW }
	:: atomic { phase[p] == RUNNING && renewed[p] != SILENCE ->
		if
		:: renewed[p] == NO -> window[p] = 0
		:: renewed[p] == YES && window[p] > 0 && fresh[p] > window[p] -> window[p] = fresh[p]
		:: else -> skip
		fi;
		fresh[p] = 0; renewed[p] = SILENCE }

	/* The function has run, in time or late: its end is sent in either case. */
	:: atomic { phase[p] == RUNNING -> completes[request[p]] = 1; rest(p); move(p, ENDING) }
	:: atomic { phase[p] == RUNNING -> releases[request[p]] = 1; rest(p); move(p, ENDING) }
	:: atomic { phase[p] == ENDING && answer[p] != SILENCE -> move(p, IDLE) }
	od
}

#define PASS(x) x = (x > 0 -> x - 1 : 0)

proctype clock() {
end:	do
	:: atomic { true ->
		PASS(left);
		if
		:: left == 0 -> state = ABSENT; owner = NOBODY; fence = 0
		:: else -> skip
		fi;
		PASS(window[0]); PASS(window[1]); PASS(fresh[0]); PASS(fresh[1]);
		PASS(spentFor);
		if
		:: spentFor == 0 -> spent = NOBODY
		:: else -> skip
		fi }
	od
}

init {
	atomic { run clock(); run process(0); run process(1); run wire(0); run wire(1); run wire(2) }
}
