package main_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// TestMain silences the client library, as main does.
func TestMain(m *testing.M) {
	logging.Disable()
	os.Exit(m.Run())
}
