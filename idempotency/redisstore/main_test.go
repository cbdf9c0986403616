package redisstore_test

import (
	"testing"

	"github.com/semel-go/semel/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m, "idempotency/redisstore", "internal/redisclient") }
