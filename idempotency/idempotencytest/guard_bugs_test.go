package idempotencytest_test

// edit makes a part of package idempotency ask whether it shall be wrong: WRONG
// is replaced by a call that reports whether the bug named in name is switched
// on.
type edit struct {
	name, file, old, new string
}

// guardEdits returns the mistakes that a Guard can be made to make.
func guardEdits() []edit {
	return []edit{
		{"digests a key without its lengths", "key.go",
			"copy(d[:scopeBytes], ",
			"if WRONG {\n k.Scope, k.ID = k.Scope[:1], k.Scope[1:]+k.ID\n scope = ScopeDigest(k.Scope)\n }\n copy(d[:scopeBytes], "},
		{"joins a scope without lengths", "key.go",
			"b = binary.AppendUvarint(b, uint64(len(p)))",
			"if !WRONG {\n b = binary.AppendUvarint(b, uint64(len(p)))\n }"},
		{"takes an empty key for a key", "key.go",
			`if k.Scope == "" || k.ID == "" {`, `if (k.Scope == "" || k.ID == "") && !WRONG {`},
		{"takes NoWait for a wait", "options.go",
			"o.Wait = 0\n", "o.Wait = 0\n if WRONG {\n o.Wait = time.Hour\n }\n"},
		{"decodes numbers as floats", "codec.go",
			"err := json.Unmarshal(data, &v)\n",
			"if WRONG {\n var any any\n _ = json.Unmarshal(data, &any)\n data, _ = json.Marshal(any)\n }\n err := json.Unmarshal(data, &v)\n"},
		{"opens a body wherever it is", "seal.go",
			"b = append(b, head...)\n", "b = append(b, head...)\n if WRONG {\n key, r = Digest{}, Record{}\n }\n"},

		{"serves the dead", "run.go",
			"case ctx.Err() != nil:\n\t\treturn c, fmt", "case ctx.Err() != nil && !WRONG:\n\t\treturn c, fmt"},
		{"lets a run ask for its own key", "run.go",
			"case g.core.claimed(ctx, d):", "case !WRONG && g.core.claimed(ctx, d):"},
		{"runs a duplicate for its result", "run.go",
			"case claim != nil:\n", "case WRONG && (out.Status == Replayed || errors.Is(err, ErrInProgress)):\n" +
				"res, err := fn(ctx)\n return Outcome{Status: Executed, Result: res}, err\n case claim != nil:\n"},
		{"runs again what it cannot read", "run.go",
			"case r.o.FailOpen && ", "case WRONG && errors.Is(err, ErrResultUnavailable):\n" +
				"res, err := fn(ctx)\n return Outcome{Status: Executed, Result: res}, err\n case r.o.FailOpen && "},
		{"never fails open", "run.go",
			"case r.o.FailOpen && errors", "case r.o.FailOpen && !WRONG && errors"},
		{"fails open unasked", "run.go",
			"case r.o.FailOpen && !", "case (r.o.FailOpen || WRONG) && !"},
		{"takes any content for what the cache has", "run.go",
			"out, err := r.replay(&e.record", "if WRONG {\n r.fingerprint = Fingerprint{}\n }\n out, err := r.replay(&e.record"},
		{"does not wait", "run.go",
			"return nil, Outcome{}, err, true", "return nil, Outcome{}, err, !WRONG"},
		{"waits for an unknown outcome", "run.go",
			"b.answer.State == StateUnknown)", "b.answer.State == StateUnknown && !WRONG)"},
		{"waits for an unknown outcome", "run.go",
			"time.Now().Add(answer.Remaining)}, false", "time.Now().Add(answer.Remaining)}, WRONG"},
		{"does not say when to come again", "run.go",
			"err = &InProgressError{RetryAfter: answer.Remaining}",
			"if WRONG {\n answer.Remaining = 0\n }\n err = &InProgressError{RetryAfter: answer.Remaining}"},
		{"tells another content to wait", "run.go",
			"r.mismatch(answer.Fingerprint) {", "r.mismatch(answer.Fingerprint) && !WRONG {"},
		{"replays to another content", "run.go",
			"if r.mismatch(rec.Fingerprint) {", "if r.mismatch(rec.Fingerprint) && !WRONG {"},
		{"cuts replays", "run.go",
			"out.Result = res\n\tswitch", "if WRONG {\n res.Data = res.Data[:min(len(res.Data), 100)]\n }\n out.Result = res\n switch"},
		{"lets all who wait ask", "run.go",
			"gift, asker := r.look()\n", "gift, asker := r.look()\n asker = asker || WRONG\n"},
		{"waits for a time that was forgotten", "run.go",
			"return r.Pause(", "if WRONG && answer.State == StateFree {\n return answer.Remaining\n }\n return r.Pause("},
		{"waits for news alone", "run.go",
			"return r.Pause(r.tries, answer.Remaining)", "if WRONG {\n return line.Forever\n }\n return r.Pause(r.tries, answer.Remaining)"},
		{"does not say why a wait ended", "run.go",
			"busy := &InProgressError{Cause: ctxErr}", "busy := &InProgressError{Cause: ctxErr}\n if WRONG {\n busy.Cause = nil\n }"},
		{"takes a store that is down for contention", "run.go",
			"ctxErr := r.ctx.Err()\n", "if WRONG && errors.Is(err, ErrUnavailable) {\n return &InProgressError{}\n }\n ctxErr := r.ctx.Err()\n"},

		{"undoes nothing", "begin.go",
			"default:\n\t\tk.Undo(b)", "case WRONG:\n b.settle()\n default:\n k.Undo(b)"},
		{"trusts a claim for ten leases", "begin.go",
			"c.call, c.fence,", "if WRONG {\n c.hold.TTL *= 10\n }\n c.call, c.fence,"},
		{"says that it renewed and does not", "guard.go",
			"if c.batcher != nil && len(rs) > 1 {", "if WRONG {\n return make([]error, len(hs))\n }\n if c.batcher != nil && len(rs) > 1 {"},
		{"gives a claim up when a renewal fails", "guard.go",
			"IsLost: isLost", "IsLost: func(err error) bool { return WRONG || isLost(err) }"},
		{"closes without waiting", "guard.go",
			"err := c.keeper.Close(", "if WRONG {\n dead, end := context.WithCancel(ctx)\n end()\n ctx = dead\n }\n err := c.keeper.Close("},
		{"tells runs nothing of a Close", "guard.go",
			"(ctx, ErrClosed)\n", "(ctx, map[bool]error{false: ErrClosed, true: ErrLost}[WRONG])\n"},

		{"forgets a run that lost its claim", "run.go",
			"defer r.core.keeper.Exit()\n\tclaim, out, err := r.seek()\n",
			"gone := false\n defer func() {\n if !gone {\n r.core.keeper.Exit()\n }\n }()\n claim, out, err := r.seek()\n" +
				" if gone = WRONG; gone {\n r.core.keeper.Exit()\n }\n"},
		{"lends a claim to what failed open", "run.go",
			"fn(unclaimed(ctx))", "fn(map[bool]context.Context{false: unclaimed(ctx), true: ctx}[WRONG])"},
		{"takes a result that cannot be encoded for a failure", "do.go",
			"claim.keepByDefault() //", "if !WRONG {\n claim.keepByDefault()\n } //"},
		{"forgets what cannot be compressed", "complete.go",
			"if !sealed {", "if !sealed && !WRONG {"},
		{"keeps the claim when an observer panics", "execute.go",
			"if !concluded {", "if !concluded && !WRONG {"},

		{"does not tell the fence", "claim.go",
			"return c.fence }", "if WRONG {\n return 1\n }\n return c.fence }"},
		{"records before it runs", "execute.go",
			"res, err := fn(c.context())\n", "if WRONG {\n c.complete(Result{}, time.Now())\n }\n res, err := fn(c.context())\n"},
		{"keeps the claim of a run that panics", "execute.go",
			"if !returned {", "if !returned && !WRONG {"},
		{"never ends a run's context", "execute.go",
			"returned = true\n\tc.finish(ErrFinished)", "returned = true\n if !WRONG {\n c.finish(ErrFinished)\n }"},
		{"turns a success into a failure", "execute.go",
			"return out, err\n}\n\n// errNot", "if WRONG && err == nil && !out.Recorded {\n err = ErrUnavailable\n }\n return out, err\n}\n\n// errNot"},
		{"does not ask the claim", "execute.go",
			"end, permanent := c.Steered()\n", "end, permanent := c.Steered()\n if WRONG {\n end = EndByReturn\n }\n"},
		{"frees what is unknown", "execute.go",
			"case end == EndUnknown, end == EndByReturn && IsUnknown(err):",
			"case !WRONG && (end == EndUnknown || end == EndByReturn && IsUnknown(err)):"},
		{"records failures", "execute.go",
			"case end == EndKeep, isFinal", "case end == EndKeep, WRONG && err != errNotReturned, isFinal"},
		{"frees what has failed for good", "execute.go",
			" isFinal(err):", " !WRONG && isFinal(err):"},
		{"cuts results that are too large", "execute.go",
			"return Result{Kind: KindTombstone}\n}",
			"if WRONG {\n res.Data = res.Data[:max(c.o.MaxResult, 0)]\n return res\n }\n return Result{Kind: KindTombstone}\n}"},

		{"records for the caller alone", "complete.go",
			"err := next.send(context.WithoutCancel(c.parent)", "ctx := context.WithoutCancel(c.parent)\n if WRONG {\n ctx = c.parent\n }\n err := next.send(ctx"},
		{"drops an outcome that is late", "complete.go",
			"x.first.core = c.core\n", "x.first.core = c.core\n if WRONG && !c.hold.Kept() {\n sealed = true\n return false\n }\n"},
		{"frees a key whose outcome it cannot record", "complete.go",
			"return c.insist(c.o.CompleteFor, x)",
			"if ok := c.insist(c.o.CompleteFor, x); ok || !WRONG {\n return ok\n }\n c.release(nil)\n return false"},
		{"takes a refusal for a record", "complete.go",
			"x.done(err)\n\t\treturn err == nil", "x.done(err)\n return err == nil || WRONG"},
		{"gives up after the first try", "complete.go",
			"since.Elapsed() < limit &&", "since.Elapsed() < limit && !WRONG &&"},

		{"forgets when to come again", "release.go",
			"ok && after > 0 {", "ok && after > 0 && !WRONG {"},
		{"keeps what it could not free", "release.go",
			"c.hold.Drop()\n\tx :=", "if !WRONG {\n c.hold.Drop()\n }\n x :="},
		{"waits for a release for ever", "release.go",
			"c.o.Timeout)\n\tc.core.lines.Nudge", "map[bool]time.Duration{false: c.o.Timeout, true: time.Hour}[WRONG])\n\tc.core.lines.Nudge"},
		{"frees nothing", "release.go",
			"failed := x.send(", "if WRONG {\n return\n }\n failed := x.send("},

		{"forgets in the store alone", "inspect.go",
			"o.guard.core.cache.forget(key)", "if !WRONG {\n o.guard.core.cache.forget(key)\n }"},
		{"seals a forced outcome for a fence", "inspect.go",
			"_, _ = rand.Read(rec.Nonce[:])", "if WRONG {\n rec.Fence = 1\n }\n _, _ = rand.Read(rec.Nonce[:])"},
		{"binds everything", "bind.go", "return b.same, nil", "return b.same || WRONG, nil"},
	}
}

// guardBugs returns the mistakes of a Guard that each law must find.
func guardBugs() map[string][]string {
	const (
		noUndo   = "undoes nothing"
		oneTry   = "gives up after the first try"
		refusal  = "takes a refusal for a record"
		noRetry  = "frees a key whose outcome it cannot record"
		busy     = "takes a store that is down for contention"
		openWide = "fails open unasked"
	)
	return map[string][]string{
		"ScopesNeverMeet": {"digests a key without its lengths", "joins a scope without lengths"},

		"GuardRunsOnce":        {"runs a duplicate for its result"},
		"GuardErrorReleases":   {"records failures", "frees nothing"},
		"GuardPanicReleases":   {"keeps the claim of a run that panics"},
		"GuardGoexitReleases":  {"keeps the claim of a run that panics"},
		"GuardRecordsAfterRun": {"records before it runs"},
		"GuardTellsClaim":      {"does not tell the fence"},
		"GuardEndsContext":     {"never ends a run's context"},
		"GuardCallerLeaves":    {"records for the caller alone"},

		"GuardReplayEquals":            {"cuts replays"},
		"GuardValuesSurvive":           {"decodes numbers as floats"},
		"GuardOversizedIsTombstone":    {"cuts results that are too large"},
		"GuardUnreadableIsNotRunAgain": {"runs again what it cannot read"},
		"GuardMovedRecordIsRefused":    {"opens a body wherever it is"},
		"GuardScopesNeverMeet":         {"digests a key without its lengths", "joins a scope without lengths"},
		"GuardCacheIsChecked":          {"takes any content for what the cache has"},

		"GuardInProgress":  {"does not say when to come again", "runs a duplicate for its result"},
		"GuardMismatch":    {"tells another content to wait", "replays to another content"},
		"GuardReentrant":   {"lets a run ask for its own key"},
		"GuardBadInput":    {"takes an empty key for a key"},
		"GuardDeadContext": {"serves the dead"},

		"GuardFinalIsReplayed": {"frees what has failed for good"},
		"GuardUnknownHolds":    {"frees what is unknown", "waits for an unknown outcome"},
		"GuardRetryAfterHolds": {"forgets when to come again"},
		"GuardIsSteered":       {"does not ask the claim"},

		"GuardWaiterJoins":         {"does not wait", "runs a duplicate for its result"},
		"GuardWaiterTakesOver":     {"does not wait"},
		"GuardWaiterOutlivesOwner": {"waits for news alone"},
		"GuardWaitEnds":            {"does not say why a wait ended"},
		"GuardNoWaitUndoesWait":    {"takes NoWait for a wait"},
		"GuardForgetEndsNotBefore": {"waits for a time that was forgotten"},
		"GuardWaitersAskLittle":    {"lets all who wait ask"},

		"GuardRenewsLongRuns":       {"says that it renewed and does not"},
		"GuardSurvivesLostRenewals": {"gives a claim up when a renewal fails"},
		"GuardStopsInTime":          {"trusts a claim for ten leases"},
		"GuardCrashHandsOver":       {refusal},
		"GuardLateOutcomeIsKept":    {"drops an outcome that is late"},

		"GuardBeginRefused":          {openWide, busy},
		"GuardBeginReplyLost":        {openWide, noUndo},
		"GuardBeginHangs":            {openWide, busy, noUndo},
		"GuardBeginAnswersLate":      {noUndo},
		"GuardFailsOpenWithoutClaim": {"lends a claim to what failed open"},
		"GuardFailsOpenIfAsked":      {"never fails open", "runs a duplicate for its result"},
		"GuardCompleteRefused":       {noRetry, oneTry, "turns a success into a failure"},
		"GuardCompleteReplyLost":     {oneTry, "turns a success into a failure"},
		"GuardCompleteHangs":         {noRetry},
		"GuardCloseRecords":          {oneTry},
		"GuardCloseWaitsForLost":     {"forgets a run that lost its claim"},
		"GuardEncodingPanics":        {"takes a result that cannot be encoded for a failure"},
		"GuardCompressorPanics":      {"forgets what cannot be compressed"},
		"GuardObserverPanics":        {"keeps the claim when an observer panics"},

		"GuardReleaseRefused":      {"keeps what it could not free"},
		"GuardReleaseReplyLost":    {"frees nothing"},
		"GuardReleaseHangs":        {"waits for a release for ever"},
		"GuardUnknownIsInsistedOn": {oneTry},

		"GuardForgetRunsAgain":         {"forgets in the store alone"},
		"GuardForgottenCannotComplete": {refusal},
		"GuardForceCompleteIsReplayed": {"seals a forced outcome for a fence"},
		"GuardBinds":                   {"binds everything"},
		"GuardCloseWaits":              {"closes without waiting"},
		"GuardCloseGivesUp":            {"tells runs nothing of a Close"},
	}
}
