/* One key under lock/failoverlock: a primary store, a database with the mode
 * row and the key's row, and two workers whose requests are delayed and lost
 * and who pause. README.md says what is abstracted and what is checked.
 *
 * Time is ticks, as in claim.pml: a step can be late by any time, a lost
 * message is one that is never delivered, a crash is a pause without end.
 */

#define G 1        /* how long a worker may use the mode it has read */
#define DRIFT 1    /* by how much its clock may be slow over G, or the drainer's fast */
#ifdef BAD_DRAIN_SHORT
#define DRAIN 0    /* shorter than G */
#else
#ifdef BAD_DRAIN_NO_DRIFT
#define DRAIN 1    /* G, and nothing for clocks that drift */
#else
#define DRAIN 2    /* G * (1 + drift) + margin */
#endif
#endif
#define WINDOW 3   /* a lease's trust window, and what the stores count: longer than a drain */
#define LASTEPOCH 2
#define NOBODY 3
#define NOBODYS 2  /* owned by a nonce that no worker uses any more */

#define PRIMARY 0   /* even epochs */
#define SECONDARY 1 /* odd epochs */
#define DRAINING 2

/* The database: the mode row, and the row of the key. */
byte mode, epoch;
byte rowOwner = NOBODY, rowLeft;
/* The primary: the key. */
byte keyOwner = NOBODY, keyLeft;

/* A worker's background loop: an answer on its way, and what it knows. */
bit reads[2];
byte readLeft[2], readMode[2], readEpoch[2];
byte knownMode[2], knownEpoch[2];
byte grantEpoch[2], grantLeft[2];   /* the right to use the primary */
byte drained[2];                    /* how long it has seen knownEpoch's draining */

/* A worker's lease. Each request to acquire has a nonce of its own. */
#define NONE 0
#define ASKS 1
#define HELD 2
byte lease[2], window[2], leaseEpoch[2];
bit onSecondary[2];
bit asked[2], granted[2];           /* its request is under way; its answer is */
byte fresh[2];                      /* the window that its extension may open */

#ifdef BAD_WINDOW_ALONE /* it counts from a send after the grant was checked, and nothing else ends the lease */
#define BOUND(w) 1
#else
#ifdef BAD_NAIVE       /* the primary, or else the secondary, whatever the mode */
#define BOUND(w) 1
#else
#ifdef BAD_EPOCH_NOT_COMPARED
#define BOUND(w) (onSecondary[w] || grantLeft[w] > 0)
#else
#define BOUND(w) (onSecondary[w] || grantLeft[w] > 0 && grantEpoch[w] == leaseEpoch[w])
#endif
#endif
#endif
#define VALID(w) (lease[w] == HELD && window[w] > 0 && BOUND(w))

/* What must never be. */
bit two_owners, fence_went_back;
byte top;                           /* the greatest epoch in a fence that an owner has used */

inline exclusive() {
	two_owners = VALID(0) && VALID(1);
	assert(!two_owners)
}

/* An owner that finds its lease valid writes to a resource that knows the
 * greatest fence it was given. Within an epoch there is one store, whose tokens
 * rise. */
inline use(w) {
	fence_went_back = leaseEpoch[w] < top;
#ifndef ONLY_OWNERS
	assert(!fence_went_back);
#endif
	top = leaseEpoch[w]
}

inline forget(w) {
	lease[w] = NONE; window[w] = 0; leaseEpoch[w] = 0; onSecondary[w] = 0;
	asked[w] = 0; granted[w] = 0; fresh[w] = 0
}

/* The release arrives, or it does not and the key's time runs out. */
inline release(w) {
	if
	:: keyOwner == w -> keyOwner = NOBODY; keyLeft = 0
	:: rowOwner == w -> rowOwner = NOBODY; rowLeft = 0
	:: keyOwner == w -> keyOwner = NOBODYS
	:: rowOwner == w -> rowOwner = NOBODYS
	:: keyOwner != w && rowOwner != w -> skip
	fi;
	forget(w)
}

#ifdef BAD_NAIVE
#define SECONDARY_ALLOWS(w) 1
#else
#define SECONDARY_ALLOWS(w) (mode == SECONDARY && epoch == leaseEpoch[w])  /* the row locked FOR SHARE */
#endif

proctype worker(byte w) {
end:	do
	/* The grant. The clock is noted before the transaction begins: noted and
	 * read in one step is the longest that it can get. */
	:: atomic { !reads[w] ->
		readLeft[w] = G + DRIFT; readMode[w] = mode; readEpoch[w] = epoch; reads[w] = 1 }
	:: atomic { reads[w] ->
		if
		:: knownMode[w] != readMode[w] || knownEpoch[w] != readEpoch[w] ->
			knownMode[w] = readMode[w]; knownEpoch[w] = readEpoch[w]; drained[w] = 0
		:: else -> skip
		fi;
		if
		:: readMode[w] == PRIMARY && readLeft[w] > 0 -> grantEpoch[w] = readEpoch[w]; grantLeft[w] = readLeft[w]
		:: readMode[w] == SECONDARY -> grantEpoch[w] = 0; grantLeft[w] = 0
		:: else -> skip                   /* draining: the grant that it has runs out */
		fi;
		reads[w] = 0; readLeft[w] = 0; readMode[w] = 0; readEpoch[w] = 0;
		exclusive() }

	/* The mode: each change compares mode and epoch with what was read. */
	:: atomic { mode == knownMode[w] && epoch == knownEpoch[w] && epoch < LASTEPOCH ->
		if
		:: mode != DRAINING -> mode = DRAINING
		:: mode == DRAINING && epoch % 2 == 0 && drained[w] >= DRAIN -> mode = SECONDARY; epoch++
		:: mode == DRAINING && epoch % 2 == 1 && rowOwner == NOBODY -> mode = PRIMARY; epoch++
		fi }

	/* The lease: the right is checked and the request sent; it arrives; it is
	 * answered. */
	:: atomic { lease[w] == NONE &&
#ifdef BAD_NAIVE
		true ->
		if
		:: onSecondary[w] = 0
		:: onSecondary[w] = 1        /* it does not reach the primary */
		fi;
#else
		(knownMode[w] == SECONDARY || knownMode[w] == PRIMARY && grantLeft[w] > 0) ->
		onSecondary[w] = (knownMode[w] == SECONDARY);
#endif
		leaseEpoch[w] = knownEpoch[w]; asked[w] = 1; window[w] = WINDOW; lease[w] = ASKS }
	:: atomic { asked[w] && !onSecondary[w] && keyOwner == NOBODY ->
		asked[w] = 0;
		keyOwner = w; keyLeft = WINDOW; granted[w] = 1 }
	:: atomic { asked[w] && onSecondary[w] && rowOwner == NOBODY && SECONDARY_ALLOWS(w) ->
		asked[w] = 0;
		rowOwner = w; rowLeft = WINDOW; granted[w] = 1 }
	:: atomic { granted[w] ->
		granted[w] = 0;
		if
		:: window[w] > 0 && BOUND(w) -> lease[w] = HELD; exclusive(); use(w)
		:: else -> release(w)
		fi }
	:: atomic { lease[w] != NONE -> release(w) }   /* whether answered or not */

	/* It is extended: the request arrives at once, its answer when it likes. */
	:: atomic { VALID(w) && fresh[w] == 0 && window[w] < WINDOW && !onSecondary[w] && keyOwner == w ->
		keyLeft = WINDOW; fresh[w] = WINDOW }
	:: atomic { VALID(w) && fresh[w] == 0 && window[w] < WINDOW && onSecondary[w] && rowOwner == w && SECONDARY_ALLOWS(w) ->
		rowLeft = WINDOW; fresh[w] = WINDOW }
	:: atomic { fresh[w] > window[w] && VALID(w) -> window[w] = fresh[w]; fresh[w] = 0 }
	:: atomic { VALID(w) -> use(w) }
	od
}

#define PASS(x) x = (x > 0 -> x - 1 : 0)

inline pass(w) {
	PASS(window[w]); PASS(fresh[w]); PASS(readLeft[w]); PASS(grantLeft[w]);
	if
	:: grantLeft[w] == 0 -> grantEpoch[w] = 0
	:: else -> skip
	fi;
	if
	:: knownMode[w] == DRAINING && drained[w] < DRAIN -> drained[w]++
	:: else -> skip
	fi
}

proctype clock() {
end:	do
	:: atomic { true ->
		PASS(keyLeft); PASS(rowLeft);
		if
		:: keyLeft == 0 -> keyOwner = NOBODY
		:: else -> skip
		fi;
		if
		:: rowLeft == 0 -> rowOwner = NOBODY
		:: else -> skip
		fi;
		pass(0); pass(1) }
#ifdef BAD_DRAIN_BY_STEPPING_CLOCK  /* the drain is timed by a clock that may be set forward */
	:: atomic { knownMode[0] == DRAINING -> drained[0] = DRAIN }
#endif
#ifdef BAD_LOST_COMMIT              /* the database forgets the switch that it has acknowledged */
	:: atomic { mode == SECONDARY && epoch == 1 -> mode = PRIMARY; epoch = 0 }
#endif
	od
}

init {
	atomic { run clock(); run worker(0); run worker(1) }
}
