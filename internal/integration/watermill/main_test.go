package watermill_test

import (
	"os"
	"testing"

	"github.com/semel-go/semel/internal/leaktest"
)

// roleEnv makes a re-executed test binary a consumer; it then never runs a test.
const roleEnv = "SEMEL_WATERMILL_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "victim" {
		victim()
		os.Exit(1)
	}
	os.Exit(leaktest.Main(m, "cqrs/watermillcqrs", "semel/cqrs", "semel/idempotency", "idempotency/redisstore", "internal/keeper"))
}
