package response

import (
	"net/http"
	"slices"
)

// How says what a Change does to the header it is applied to.
type How uint8

// The ways to change a header.
const (
	// Set replaces whatever stands under the name. With no values the name is
	// there and empty, which keeps net/http from adding a value of its own.
	Set How = iota
	// Add appends to what stands under the name: outer middleware's part is
	// that of each request itself.
	Add
	// Remove deletes the name.
	Remove
)

// Change is what a handler did to one name of the header that was prepared for
// it.
type Change struct {
	// Name is the key of the map as the handler spelled it.
	Name   string
	Values []string
	How    How
}

// diff returns how before became now, in no order. The values are copies.
func diff(before, now http.Header) []Change {
	changes := make([]Change, 0, len(now))
	values := 0
	for name, is := range now {
		c := Change{Name: name, Values: is}
		if was, had := before[name]; had {
			if slices.Equal(was, is) {
				continue
			}
			if n := len(was); n > 0 && len(is) > n && slices.Equal(was, is[:n]) {
				c.How, c.Values = Add, is[n:]
			}
		}
		values += len(c.Values)
		changes = append(changes, c)
	}
	// The handler may go on to write into its slices.
	own := make([]string, 0, values)
	for i := range changes {
		own = append(own, changes[i].Values...)
		changes[i].Values = slices.Clip(own[len(own)-len(changes[i].Values):])
	}
	for name := range before {
		if _, has := now[name]; !has {
			changes = append(changes, Change{Name: name, How: Remove})
		}
	}
	return changes
}

// apply makes changes to h. The slices in h are not those of changes, which may
// still be recorded when somebody writes into h.
func apply(h http.Header, changes []Change) {
	values := 0
	for _, c := range changes {
		values += len(c.Values)
	}
	own := make([]string, 0, values)
	for _, c := range changes {
		own = append(own, c.Values...)
		added := slices.Clip(own[len(own)-len(c.Values):])
		switch c.How {
		case Set:
			h[c.Name] = added
		case Add:
			h[c.Name] = append(slices.Clip(h[c.Name]), added...)
		case Remove:
			delete(h, c.Name)
		}
	}
}
