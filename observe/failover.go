package observe

// What lock/failoverlock reports. Mode and Epoch say what the process has read.
const (
	// FailoverDraining: the mode is being left: nothing is granted until what
	// was granted in it has ended.
	FailoverDraining Kind = "failover_draining"
	// FailoverSwitched: the mode is another, and keys are granted in its store.
	// The first one is told as well.
	FailoverSwitched Kind = "failover_switched"
	// FailoverCutOff: this process could not renew its grant. If that goes on,
	// every lease in the primary ends and nothing is granted. Err says why.
	FailoverCutOff Kind = "failover_cut_off"
	// FailoverRefused: the mode should be left and is not, since its epochs are
	// used up.
	FailoverRefused Kind = "failover_refused"
)
