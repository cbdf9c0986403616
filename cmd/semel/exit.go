package main

import (
	"errors"
	"fmt"
)

// The exit codes; the help tells them.
const (
	exitOK       = 0
	exitFailed   = 1 // also: the server was not reached, the doctor found a problem
	exitUsage    = 2
	exitNotFound = 3
	exitRefused  = 4 // not done: the operator, or the record's state, said no
)

// exitError is an error that has an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the code for err.
func exitCode(err error) int {
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}

// usage returns an error of whoever called the program.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// notFound says that there is no such record.
func notFound(key fmt.Stringer) error {
	return &exitError{exitNotFound, fmt.Errorf("nothing is known of %v", key)}
}

// refused says that nothing was done, and why.
func refused(format string, args ...any) error {
	return &exitError{exitRefused, fmt.Errorf("not done: "+format, args...)}
}
