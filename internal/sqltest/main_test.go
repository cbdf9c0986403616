package sqltest_test

import (
	"os"
	"testing"

	"github.com/semel-go/semel/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "internal/sqltest")) }
