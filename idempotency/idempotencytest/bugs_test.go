package idempotencytest_test

// bugs returns the mistakes of the model that each law must find. Each is one
// that somebody could make, and is asked for by name where it is made.
func bugs() map[string][]string {
	const (
		noClock = "counts fences without a clock"
		anyTTL  = "takes any ttl"
	)
	return map[string][]string{
		"OneOwner":            {"claims for everybody"},
		"OneOwnerOfMany":      {"looks first and claims then"},
		"OneOwnerAfterExpiry": {"takes over a dead claim in two steps"},
		"RefusalTellsRemaining": {
			"does not tell what remains", "tells the asker's lease as what remains", "does not tell when a record ends",
		},
		"RefusalChangesNothing":     {"arms the owner's lease when it notes a waiter"},
		"FingerprintComesBackWhole": {"tells half of a fingerprint", "tells the asker's fingerprint"},
		"NoncesCompareWhole": {
			"compares nonces by their beginning", "compares nonces by their end", "folds the case of nonces",
		},
		"ResendIsOurs":        {"refuses a resent begin", "counts a resent begin", "gives a resent begin another fence"},
		"ResendArmsFullLease": {"does not arm the lease of a resent begin"},
		"ResendNeverShortens": {"arms the lease of a resent begin though more remains"},
		"SpentNonceIsRefused": {
			"claims for a spent nonce", "holds a spent nonce back and does not refuse it",
		},
		"ResendFindsOwnCompletion": {"claims again for who completed"},

		"ExpiryHandsOver":     {"never ends a claim"},
		"ExpiryIsNotEarly":    {"ends claims early"},
		"FractionsRoundUp":    {"rounds down to milliseconds"},
		"RecordOutlivesLease": {"keeps a record for what remains of the lease"},
		"RecordEndsWithRetention": {
			"keeps a record for at least what remains of the lease", "stores records without an expiry",
		},
		"RetentionIsNotEarly":   {"ends records early"},
		"SpentNonceIsForgotten": {"remembers spent nonces for good"},
		"EverythingExpires":     {"stores late outcomes without an expiry"},

		"RenewProlongs":      {"says that it renewed and does not"},
		"RenewArmsLease":     {"adds the lease to what remains"},
		"RenewNeverShortens": {"arms a lease shorter than what remains"},
		"RenewNeverRevives": {
			"claims again when it is renewed too late", "claims again when it is renewed after the release",
		},
		"RenewByOtherIsTaken": {"renews whoever the owner is"},
		"RenewOfCompletedIsTaken": {
			"prolongs a record when it is renewed", "says nothing of a renewal of what is completed",
		},

		"CompleteRecords":              {"withholds a record from another fingerprint"},
		"CompleteTwiceSucceeds":        {"refuses a second completion", "records a second completion"},
		"LateCompleteIsStored":         {"drops a late outcome", "does not say that an outcome is late"},
		"CompleteAfterTakeoverIsTaken": {"completes whoever the owner is"},
		"CompleteOnFreeIsExpired":      {"completes what was released"},
		"OneOutcomeOfMany":             {"looks first and completes then"},
		"CompletionOrTakeover":         {"claims over a completion that came meanwhile", "looks first and completes then"},

		"RecordIsByteEqual":     {"cuts bodies at 64 KiB", "ends a body at its first NUL", "trims bodies"},
		"LabelIsByteEqual":      {"keeps labels as text"},
		"RecordIsWhole":         {"keeps fences to 14 digits", "keeps attempts in 8 bits", "keeps times to the second"},
		"ZeroFingerprintIsZero": {"makes up a fingerprint"},
		"RecordIsNobodysElse":   {"keeps the caller's buffer", "gives out its own buffer"},
		"CompletionIsFinal": {
			"cuts a record's time at a second completion", "cuts a record's time to the asker's lease",
		},
		"ReleaseOfCompletedIsTaken":  {"frees what it completed", "frees what is completed when it compensates"},
		"CompleteOfCompletedIsTaken": {"overwrites an outcome with a later one"},

		"ReleaseFrees":                {"keeps a key until its stub has ended"},
		"ReleaseByOtherIsTaken":       {"releases whoever the owner is", "says nothing of a release by another"},
		"ReleaseOfAbsentIsExpired":    {"says nothing of a release of what is gone"},
		"ReleaseAfterOthersIsExpired": {"takes another's spent nonce for its own"},
		"ReleaseTwiceSucceeds":        {"forgets who released", "holds a key back at a second release"},
		"NotBeforeHolds":              {"ignores the not-before time", "forgets the not-before time with the nonce"},
		"NotBeforeEnds":               {"holds a key back for at least the lease"},
		"NotBeforeMayBeShort":         {"refuses short not-before times"},
		"AttemptCountsReleases":       {"loses count of the attempts"},
		"AttemptOutlivesNotBefore":    {"forgets a free key when it may be claimed"},
		"ForeignAttemptsDoNotCount":   {"counts refused duplicates", "counts a resent begin"},

		"UnknownIsNotClaimed": {
			"frees a key whose outcome is unknown", "holds an unknown outcome for the stub's time",
		},
		"UnknownEnds":   {"holds an unknown outcome for at least the lease"},
		"UnknownStands": {"completes what was declared unknown", "ends an unknown outcome at a second release"},

		"CompensationSpendsNonce": {"leaves nothing when it compensates"},
		"CompensationIsInvisible": {"counts a begin that was undone"},
		"CompensationFreesOwn":    {"compensates only what is absent", "counts a claim that was never seen"},
		"CompensationLeavesOthers": {
			"spends the nonce whoever the owner is", "frees what is completed when it compensates",
		},
		"CompensationOnFree": {
			"does not spend the nonce where another's is spent", "forgets the attempts when it compensates",
			"forgets the not-before time when it compensates",
		},

		"FenceRisesAcrossRelease":      {"gives every claim the same fence"},
		"FenceRisesAcrossExpiry":       {noClock},
		"FenceRisesAcrossRetention":    {noClock},
		"FenceRisesAcrossUnknown":      {noClock},
		"FenceRisesAcrossCompensation": {"forgets the fence when it compensates"},
		"FenceRisesAcrossForget":       {"forgets the fence with the record"},
		"FenceRisesAcrossRewind":       {noClock},

		"KeysAreTheirBytes": {
			"keeps the first half of a key", "takes a key for text that ends at a NUL", "folds the case of keys",
		},
		"ScopesNeverMeet": {"keeps the scope of a key"},

		"LeaseOutOfRangeIsInvalid":     {"takes any lease", "does not say what is out of range"},
		"RetentionOutOfRangeIsInvalid": {"takes any retention"},
		"ReleaseOutOfRangeIsInvalid":   {anyTTL, "takes any notbefore", "takes any unknown"},
		"DeadContextLeavesNothing":     {"takes a dead context for a lost claim"},

		"ListenerHearsThatItListens": {"does not say when it listens"},
		"ListenerHearsCompletion":    {"does not tell of completions"},
		"ListenerHearsRelease":       {"does not tell of releases", "does not tell of unknown outcomes"},
		"ResendKeepsWaiters":         {"forgets the waiters at a resent begin"},
		"ListenersAllHear":           {"stops listening for all when one does"},
		"ListenerHearsOperator":      {"does not tell what operators do"},
		"ListenerHearsNotBeforeEnd":  {"does not note who waits for a not-before time"},
		"ClosedListenerIsSilent":     {"goes on telling after it was closed"},

		"BatchEqualsSingle": {"fails a batch as a whole", "hides failures in a batch"},
		"BatchProlongs":     {"renews only the first of a batch"},

		"BindHoldsFirst":              {"binds an id anew", "compares half of a binding"},
		"BindOneOfMany":               {"looks first and binds then"},
		"BindingEnds":                 {"prolongs a binding that is asked for"},
		"BindingIsNotEarly":           {"cuts a binding that is asked for"},
		"BindingsAndRecordsNeverMeet": {"keeps bindings among the records"},
		"BindOutOfRangeIsInvalid":     {anyTTL},

		"LookTellsState": {
			"takes an unknown outcome for a claim", "looks without telling what remains", "does not look at the attempt",
			"does not look at the not-before time",
		},
		"LookChangesNothing": {"prolongs a claim that is looked at"},
		"ListTellsAll":       {"lists the first page alone", "lists what is claimed alone"},
		"ListSelects":        {"lists every scope", "lists every state", "lists the first of several states"},

		"ForgetFrees": {
			"forgets without spending the nonce", "leaves the not-before time of what it forgets",
			"does not forget an unknown outcome", "forgets the attempts with the record", "deletes what it forgets",
		},
		"ForgetOfAbsentIsNothing": {"leaves a stub of what is absent", "says that it forgot what is absent"},
		"ForgetIsRemembered":      {"remembers what it forgot as long as before", "deletes what it forgets"},
		"ForceCompleteRecords": {
			"does not force an unknown outcome", "forces an outcome with the fence it was given",
		},
		"ForceCompleteKeepsCompleted": {"forces an outcome over another"},
		"ReleaseDeadFrees":            {"does not free an unknown outcome"},
		"ReleaseDeadLeavesOthers":     {"frees whoever the owner is", "frees what may not be claimed yet"},
		"OperatorOutOfRangeIsInvalid": {"takes any time from an operator", "takes any stub"},
	}
}
