package leaktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/leaktest"
)

// block runs until stop is closed.
func block(running, stop chan struct{}) {
	close(running)
	<-stop
}

func TestRunning(t *testing.T) {
	t.Parallel()
	running, stop := make(chan struct{}), make(chan struct{})
	go block(running, stop)
	<-running
	require.Contains(t, leaktest.Running("internal/leaktest_test"), "block")
	require.Empty(t, leaktest.Running("internal/nothing"))
	close(stop)
}
