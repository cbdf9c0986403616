package locktest_test

// mutation is a mistake in the Locker, and the laws that must find it. It is
// made in a copy of the sources that only the compiler sees.
type mutation struct {
	laws []string
	// name says what the Locker does wrong.
	name  string
	edits []edit
}

// edit replaces text that occurs once in a file of this module. The new text
// may ask whether its mutation is the one that runs: MUTANT.
type edit struct{ file, old, new string }

// one returns a list of one.
func one(file, old, new string) []edit { return []edit{{file, old, new}} }

// mutations returns all of them.
func mutations() []mutation {
	return []mutation{
		{
			[]string{"LockerExcludes", "LockerHandsOnRealOwnership"}, "hands a key on and gives it back as well",
			one("lock/lease.go", "		l.released = true\n		tell(ctx, l.o.Observer, observe.Event{Kind: observe.HandedOver",
				"		l.released = true\n		if MUTANT { r := &release{core: c, req: ReleaseRequest{Key: g.key, Nonce: g.nonce, TTL: g.TTL}}; _ = r.send(ctx, l.o.Timeout) }\n		tell(ctx, l.o.Observer, observe.Event{Kind: observe.HandedOver"),
		},
		{
			[]string{"LockerFencesRise"}, "hands the same fence on",
			one("lock/grant.go", "			g.fence++\n", "			if !MUTANT { g.fence++ }\n"),
		},
		{
			[]string{"LockerRefusesReentry"}, "lets a caller wait for itself",
			one("lock/acquire.go", "case l.core.holds(ctx, key):", "case !MUTANT && l.core.holds(ctx, key):"),
		},
		{
			[]string{"LockerWaitEnds"}, "does not say that the context ended a wait",
			one("lock/acquire.go", "held := &HeldError{Key: a.key, Cause: ctxErr}", "held := &HeldError{Key: a.key, Cause: mutated(MUTANT, nil, ctxErr)}"),
		},
		{
			[]string{"LockerWaitEnds"}, "does not say that the context ended a wait when it was refused",
			one("lock/acquire.go", "	case ctxErr != nil && err == error(a.held) &&", "	case !MUTANT && ctxErr != nil && err == error(a.held) &&"),
		},
		{
			[]string{"LockerWaitEnds"}, "waits without an end",
			one("internal/line/waiter.go", "	if wait != Forever {", "	if wait != Forever && !MUTANT {"),
		},
		{
			[]string{"LockerQueueIsInOrder"}, "serves the last who came first",
			one("internal/line/line.go", "	return ln.first\n}\n\n// Give", "	return mutated(MUTANT, ln.last, ln.first)\n}\n\n// Give"),
		},
		{
			[]string{"LockerIsFairToOtherProcesses"}, "hands a key on while another process waits",
			one("lock/grant.go", "err != nil || g.rivals ||", "err != nil || !MUTANT && g.rivals ||"),
		},
		{
			[]string{"LockerIsFairToFartherProcesses"}, "asks at once for what it gave back for another's sake",
			one("lock/release.go", "	yields := g.rivals\n", "	yields := g.rivals && !MUTANT\n"),
		},
		{
			[]string{"LockerAbandonedWaitLeavesNothing"}, "keeps the place of who has gone",
			one("lock/acquire.go", "	gift := a.Leave()\n", "	var gift any\n	if lease != nil || !MUTANT { gift = a.Leave() }\n"),
		},
		{
			[]string{"LockerCancelledWaitersAreNotOwners"}, "forgets a lease that was handed to who has gone",
			one("lock/acquire.go", "	if late, ok := gift.(*Lease); ok && lease == nil {", "	if late, ok := gift.(*Lease); ok && lease == nil && !MUTANT {"),
		},
		{
			[]string{"LockerStaleLeaseIsPowerless"}, "releases whichever turn it is",
			one("lock/lease.go", "	if l.released {\n", "	if l.released && !MUTANT {\n"),
		},
		{
			[]string{"LockerStaleLeaseIsPowerless"}, "extends whichever turn it is",
			[]edit{
				{"lock/lease.go", "	if !l.Valid() {\n		return fmt.Errorf", "	if !l.Valid() && !MUTANT {\n		return fmt.Errorf"},
				{"lock/lease.go", "	if !l.Valid() { // its turn", "	if !l.Valid() && !MUTANT { // its turn"},
			},
		},
		{
			[]string{"LockerTTLSurvivesHandOver"}, "hands a short lease to who wants a long one",
			one("lock/grant.go", "|| a.o.TTL > g.TTL || a.o.Margin > g.Margin ||", "|| !MUTANT && (a.o.TTL > g.TTL || a.o.Margin > g.Margin) ||"),
		},
		{
			[]string{"LockerOptionsSurviveHandOver"}, "tells the observer of who had the key first",
			one("lock/grant.go", "o: heir.o,", "o: mutated(MUTANT, l.o, heir.o),"),
		},
		{
			[]string{"LockerObserverPanics"}, "keeps the place of a caller whose observer has panicked",
			one("lock/acquire.go", "		if !over {", "		if !over && !MUTANT {"),
		},
		{
			[]string{"LockerCloseWaitsForLost"}, "does not wait for what has lost its lease",
			one("lock/do.go", "	defer l.core.keeper.Exit()\n	lease, err := l.acquire(ctx, key, terms{tied: true})\n",
				"	defer func() { if !MUTANT { l.core.keeper.Exit() } }()\n	lease, err := l.acquire(ctx, key, terms{tied: true})\n	if MUTANT { l.core.keeper.Exit() }\n"),
		},
		{
			[]string{"LockerNoTurnAfterRelease"}, "hands a key on after its release was sent",
			[]edit{
				{"lock/lease.go", "	if trusted && keep <= 0 &&", "	if (trusted || MUTANT) && keep <= 0 &&"},
				{"lock/grant.go", "|| g.sent ||", "|| g.sent && !MUTANT ||"},
				{"lock/release.go", "	c.lines.Vacate(g.key, g)\n", "	if err == nil || !MUTANT { c.lines.Vacate(g.key, g) }\n"},
			},
		},
		{
			[]string{"LockerTrustsFromTheSend"}, "counts the window from the answer to the acquire",
			one("lock/ask.go", "keeper.Hold(&g.Holding, a.start, now)", "keeper.Hold(&g.Holding, mutated(MUTANT, now, a.start), now)"),
		},
		{
			[]string{"LockerTrustsFromTheSend"}, "counts the window from the answer to the extend",
			one("lock/extension.go", "	g.End(x.start,", "	g.End(mutated(MUTANT, keeper.Now(), x.start),"),
		},
		{
			[]string{"LockerTrustsRenewalsFromTheSend"}, "counts the window from the answer to the renewal",
			one("internal/keeper/batch.go", "h.End(b.start,", "h.End(mutated(MUTANT, Now(), b.start),"),
		},
		{
			[]string{"LockerRenews"}, "does not renew",
			one("internal/keeper/holding.go", "	if h.Manual {\n", "	if h.Manual || MUTANT {\n"),
		},
		{
			[]string{"LockerRetriesRenewal"}, "gives up after a renewal that failed",
			one("internal/keeper/holding.go", "h.renewAt = Now().mono + int64(h.backoff())", "h.renewAt = mutated(MUTANT, never, Now().mono+int64(h.backoff()))"),
		},
		{
			[]string{"LockerEndsWhenCutOff"}, "takes a renewal that failed for one that did not",
			one("internal/keeper/holding.go", "	if err == nil {\n		h.fails = 0", "	if err == nil || MUTANT {\n		h.fails = 0"),
		},
		{
			[]string{"LockerEndsAtOnceWhenTaken"}, "takes a lost lease for a failure that may pass",
			one("internal/keeper/holding.go", "	if err != nil && h.k.cfg.IsLost(err) {", "	if err != nil && h.k.cfg.IsLost(err) && !MUTANT {"),
		},
		{
			[]string{"LockerRenewsAgainAfterLoss"}, "renews nothing any more after a loss",
			[]edit{
				{"internal/keeper/holding.go", "	h.k.kept--\n", "	if MUTANT && state == lost { mutantMemory = true }\n	h.k.kept--\n"},
				{"internal/keeper/holding.go", "	third := int64(h.TTL / 3)\n", "	if MUTANT && mutantMemory { h.renewAt = never; return }\n	third := int64(h.TTL / 3)\n"},
			},
		},
		{
			[]string{"LockerTTLsAreTheirOwn"}, "renews every lease by one TTL",
			one("lock/locker.go", "Nonce: g.nonce, TTL: h.TTL}", "Nonce: g.nonce, TTL: mutated(MUTANT, 10*time.Second, h.TTL)}"),
		},
		{
			[]string{"LockerExtendNeverShortens"}, "trusts what the last extend asked for",
			one("internal/keeper/holding.go", "end.mono > h.endMono.Load() {", "end.mono > h.endMono.Load() || MUTANT {"),
		},
		{
			[]string{"LockerDoFreesHoweverItEnds"}, "does not release after a panic",
			one("lock/do.go", "	defer func() {\n", "	defer func() {\n		if MUTANT && !returned { return }\n"),
		},
		{
			[]string{"LockerReleaseNeedsNoContext"}, "releases under the caller's context",
			one("lock/lease.go", "	ctx = context.WithoutCancel(ctx)\n", "	if !MUTANT { ctx = context.WithoutCancel(ctx) }\n"),
		},
		{
			[]string{"LockerReleaseTellsLoss", "LockerDoTellsLoss"}, "takes every lost lease for a release that arrived twice",
			one("lock/lease.go", "	l.end(ErrReleased)\n", "	l.end(ErrReleased)\n	l.inTime = l.inTime || MUTANT\n"),
		},
		{
			[]string{"LockerReleaseIsRepeatable"}, "forgets that a release was sent in time",
			one("lock/lease.go", "	case isLost(err) && l.inTime:", "	case isLost(err) && mutated(MUTANT, false, l.inTime):"),
		},
		{
			[]string{"LockerReleaseIsRepeatable"}, "does not release again after a release that was not answered",
			one("lock/lease.go", "	default:\n		event.Kind, event.Err = observe.ReleaseFailed, err\n", "	default:\n		if MUTANT { l.released, l.result = true, err }\n		event.Kind, event.Err = observe.ReleaseFailed, err\n"),
		},
		{
			[]string{"LockerMinHoldKeeps"}, "forgets MinHold",
			one("lock/lease.go", "	if g.minHold > 0 {", "	if g.minHold > 0 && !MUTANT {"),
		},
		{
			[]string{"LockerUnavailableIsNotContention"}, "says that a key is held when it could not ask",
			one("lock/acquire.go", "	case cut && a.trouble != nil &&", "	case !MUTANT && cut && a.trouble != nil &&"),
		},
		{
			[]string{"LockerDoesNotHammer"}, "asks a store in trouble again at once",
			one("lock/acquire.go", "		case asker && time.Until(a.resume) > 0:", "		case asker && time.Until(a.resume) > 0 && !MUTANT:"),
		},
		{
			[]string{"LockerKeepsDeadlines"}, "waits for as long as the client does",
			one("internal/keeper/call.go", "	if k.cfg.Interruptible ||", "	if k.cfg.Interruptible || MUTANT ||"),
		},
		{
			[]string{"LockerBadCallsSendNothing"}, "asks under a context that has ended",
			one("lock/acquire.go", "	case ctx.Err() != nil:", "	case ctx.Err() != nil && !MUTANT:"),
		},
		{
			[]string{"LockerUndoesUnansweredAcquire", "LockerSurvivesLostReplies"}, "does not undo an acquire that was not answered",
			one("lock/ask.go", "	a.core.keeper.Undo(a)\n", "	if MUTANT {\n		a.settle()\n		return\n	}\n	a.core.keeper.Undo(a)\n"),
		},
		{
			[]string{"LockerUndoesLateAcquire", "LockerUndoesUnansweredAcquire"}, "does not undo an acquire that was answered late",
			one("lock/ask.go", "func (a *ask) Late() { a.undo() }", "func (a *ask) Late() {\n	if MUTANT {\n		a.settle()\n		return\n	}\n	a.undo()\n}"),
		},
		{
			[]string{"LockerTryDoTellsApart"}, "skips what it could not ask for",
			one("lock/do.go", "	case errors.Is(err, ErrNotAcquired) && ctx.Err() == nil:", "	case (MUTANT || errors.Is(err, ErrNotAcquired)) && ctx.Err() == nil:"),
		},
		{
			[]string{"LockerSlotRunsOnce"}, "keeps the slot of a job that failed",
			one("lock/do.go", "keep != nil && returned && err == nil {", "keep != nil && returned && (err == nil || MUTANT) {"),
		},
		{
			[]string{"LockerSlotRunsOnce"}, "does not keep the slot of a job that succeeded",
			one("lock/do.go", "			kept = keep()\n", "			kept = mutated(MUTANT, 0, keep())\n"),
		},
		{
			[]string{"LockerCloseEndsAll"}, "leaves leases alive when it is closed",
			one("internal/keeper/keeper.go", "		h.lose(cause)\n", "		if !MUTANT { h.lose(cause) }\n"),
		},
		{
			[]string{"LockerCloseWaitsForLeases"}, "does not wait for leases when it is closed",
			one("internal/keeper/keeper.go", "	err := k.await(ctx)\n", "	var err error\n	if !MUTANT { err = k.await(ctx) }\n"),
		},
		{
			[]string{"LockerCloseLeavesNoGoroutine"}, "leaves its listener open when it is closed",
			one("internal/line/news.go", "	if l != nil {\n", "	if l != nil && !MUTANT {\n"),
		},
	}
}
