package keeper

// event is something that is due at an instant of Go's monotonic clock:
// either a holding's next step or the end of a call's time. It lives inside
// what it belongs to, so that scheduling allocates nothing.
type event struct {
	at      int64
	index   int // position in the heap plus one, 0 while not in it
	holding *Holding
	call    *Call
}

// agenda is a binary heap of events, the earliest first.
type agenda []*event

func (a *agenda) push(e *event) {
	*a = append(*a, e)
	e.index = len(*a)
	a.up(len(*a) - 1)
}

// remove takes e out, if it is in.
func (a *agenda) remove(e *event) {
	if e.index == 0 {
		return
	}
	i, last := e.index-1, len(*a)-1
	e.index = 0
	if i != last {
		(*a)[i] = (*a)[last]
		(*a)[i].index = i + 1
	}
	(*a)[last] = nil
	*a = (*a)[:last]
	if i != last {
		a.down(i)
		a.up(i)
	}
}

// reset puts e at another time.
func (a *agenda) reset(e *event, at int64) {
	e.at = at
	if e.index == 0 {
		a.push(e)
		return
	}
	a.down(e.index - 1)
	a.up(e.index - 1)
}

func (a agenda) swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i+1, j+1
}

func (a agenda) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if a[parent].at <= a[i].at {
			return
		}
		a.swap(i, parent)
		i = parent
	}
}

func (a agenda) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(a) {
			return
		}
		if right := child + 1; right < len(a) && a[right].at < a[child].at {
			child = right
		}
		if a[i].at <= a[child].at {
			return
		}
		a.swap(i, child)
		i = child
	}
}
