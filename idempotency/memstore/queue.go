package memstore

// turn is an entry's place in a queue.
type turn struct {
	at    int64
	entry *entry
}

// queue is a heap of turns, the earliest first. The instant is in the turn, so
// that ordering them does not touch the entries. A turn whose instant is not the
// one its entry is queued for is void.
type queue []turn

// valid returns the queue without its void turns, of which about n are left.
func (q queue) valid(n int) queue {
	kept := make(queue, 0, n+1)
	for _, t := range q {
		if t.entry.queued == t.at {
			kept.push(t)
		}
	}
	return kept
}

// push adds a turn.
func (q *queue) push(t turn) {
	h := append(*q, t)
	*q = h
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].at <= t.at {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = t
}

// pop removes the earliest turn of a queue that is not empty and returns it.
func (q *queue) pop() turn {
	h := *q
	first, last := h[0], len(h)-1
	t := h[last]
	h[last] = turn{}
	h = h[:last]
	*q = h
	if last == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h[child+1].at < h[child].at {
			child++
		}
		if h[child].at >= t.at {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = t
	return first
}
