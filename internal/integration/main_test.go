package integration_test

import (
	"os"
	"testing"
)

// roleEnv names what a re-executed test binary is to be; it then never runs a
// test.
const roleEnv = "SEMEL_INTEGRATION_ROLE"

// roles are the parts that a child process can play.
var roles = map[string]func() int{
	"chaos":  chaosWorker,
	"crash":  crashChild,
	"storm":  stormWorker,
	"deputy": deputyWorker,
	"crowd":  crowdWorker,
	"hook":   hookChild,
	"cqrs":   cqrsChild,
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleEnv)]; ok {
		os.Exit(role())
	}
	os.Exit(m.Run())
}
