package keeper

// worker is a goroutine that makes requests which may outlast the patience of
// those who wait for them.
type worker struct {
	in  chan *Call // the next request; closed to stop
	out chan bool  // whether it returned in time; told to who waits, once
}

// maxIdle is how many idle workers a Keeper keeps. More may run at once.
const maxIdle = 512

// worker returns an idle worker, or a new one; nil if they have all been ended.
func (k *Keeper) worker() *worker {
	k.workers.Lock()
	if k.workers.ended {
		k.workers.Unlock()
		return nil
	}
	if n := len(k.workers.idle); n > 0 {
		w := k.workers.idle[n-1]
		k.workers.idle = k.workers.idle[:n-1]
		k.workers.Unlock()
		return w
	}
	k.workers.running.Add(1)
	k.workers.Unlock()
	w := &worker{in: make(chan *Call, 1), out: make(chan bool, 1)}
	go k.work(w)
	return w
}

// park keeps w for later, or stops it if there are enough.
func (k *Keeper) park(w *worker) {
	k.workers.Lock()
	defer k.workers.Unlock()
	if k.workers.stopped || len(k.workers.idle) >= maxIdle {
		close(w.in)
		return
	}
	k.workers.idle = append(k.workers.idle, w)
}

func (k *Keeper) work(w *worker) {
	defer k.workers.running.Done()
	for call := range w.in {
		call.op.Run(call)
		if call.state.CompareAndSwap(running, returned) {
			w.out <- true
			continue
		}
		// Whoever waited may not have read yet that it was sent home: this
		// worker cannot serve another.
		call.op.Late()
		k.finish(call)
		return
	}
}

// stopWorkers lets every worker end when it has nothing left to do, and waits
// for that if it is told to.
func (k *Keeper) stopWorkers(wait bool) {
	k.workers.Lock()
	k.workers.stopped = true
	for _, w := range k.workers.idle {
		close(w.in)
	}
	k.workers.idle, k.workers.ended = nil, wait
	k.workers.Unlock()
	if wait {
		k.workers.running.Wait()
	}
}
