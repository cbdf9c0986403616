package watermillcqrs_test

import (
	"os"
	"testing"

	"github.com/semel-go/semel/internal/leaktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/cqrs/watermillcqrs", "semel/cqrs", "semel/idempotency", "internal/keeper"))
}
