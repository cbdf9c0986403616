package bench

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Register is what the contenders' locks protect: a few words of memory that
// all processes of a run share.
type Register struct {
	mem   []byte
	words *registerWords
}

type registerWords struct {
	inside  atomic.Int64 // who is in Visit now
	count   atomic.Int64 // how many were
	holder  atomic.Int64 // who had the relay's lock last
	release atomic.Int64 // when it began to release it, in ns of the wall clock
}

// OpenRegister maps the register in the named file, and makes one of zeros if
// there is none.
func OpenRegister(path string) (*Register, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("bench: open register: %w", err)
	}
	defer file.Close()
	size := int(unsafe.Sizeof(registerWords{}))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("bench: size register: %w", err)
	}
	mem, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("bench: map register: %w", err)
	}
	return &Register{mem, (*registerWords)(unsafe.Pointer(&mem[0]))}, nil
}

// Close unmaps the register. Nothing may use it any more.
func (r *Register) Close() error { return syscall.Munmap(r.mem) }

// Visit is the critical section: an increment that is only right if nobody
// else is in here. It reports whether nobody else was.
func (r *Register) Visit() bool {
	alone := r.words.inside.Add(1) == 1
	r.words.count.Store(r.words.count.Load() + 1)
	return r.words.inside.Add(-1) == 0 && alone
}

// Visits returns how many visits the register has counted: fewer than there
// were if two overlapped.
func (r *Register) Visits() int { return int(r.words.count.Load()) }
