package idempotency

import "encoding/binary"

// label is the readable key, if it is to be kept.
func (r *run) label() []byte {
	if !r.o.KeepID {
		return nil
	}
	return Label(r.key)
}

// Label returns key in the form in which a store keeps it.
func Label(key Key) []byte {
	b := binary.AppendUvarint(nil, uint64(len(key.Scope)))
	b = append(b, key.Scope...)
	return append(b, key.ID...)
}

// Name returns the readable key of a record that was made with Options.KeepID.
func (r Record) Name() (Key, bool) {
	n, size := binary.Uvarint(r.Label)
	if size <= 0 || n > uint64(len(r.Label)-size) {
		return Key{}, false
	}
	rest := r.Label[size:]
	return Key{Scope: string(rest[:n]), ID: string(rest[n:])}, true
}
