package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
)

func TestSecretsCheck(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]webhook.Secrets{
		"none":          nil,
		"unset":         {""},
		"one unset":     {"whsec_a", ""},
		"newline":       {"whsec_a\n"},
		"space before":  {" whsec_a"},
		"space after":   {"whsec_a "},
		"no-break":      {"whsec\u00a0a"},
		"zero byte":     {"whsec\x00a"},
		"carriage":      {"whsec_a\r"},
		"tab in middle": {"a\tb"},
	} {
		err := s.Check()
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), "whsec", name)
	}
	require.NoError(t, webhook.Secrets{"whsec_a", "b", "three plain words"}.Check())
	require.ErrorIs(t, webhook.SecretFunc(nil).Check(), webhook.ErrSecrets)
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	s := webhook.Secrets{"whsec_a", "whsec_b"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "in", struct{ S webhook.Secrets }{s})
	text, err := json.Marshal(map[string]any{"s": s})
	require.NoError(t, err)
	for _, shown := range []string{
		fmt.Sprint(s), fmt.Sprintf("%+v %#v %q %x %d", s, s, s, s, s), s.String(), s.GoString(), log.String(), string(text),
		fmt.Sprintf("%v", struct{ S webhook.Secrets }{s}),
	} {
		require.NotContains(t, shown, "whsec")
		require.NotContains(t, shown, fmt.Sprintf("%x", "whsec"))
		require.Contains(t, shown, "2 secrets")
	}
}

func TestSecretFunc(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tc := range []struct {
		name string
		s    webhook.Secrets
		err  error
		want error
	}{
		{"found", webhook.Secrets{"a"}, nil, nil},
		{"failed", nil, boom, webhook.ErrUnavailable},
		{"unknown tenant", nil, nil, webhook.ErrRefused},
		{"refused", nil, webhook.Refuse(webhook.Malformed, boom), webhook.ErrRefused},
		{"empty secret", webhook.Secrets{""}, nil, webhook.ErrUnavailable},
	} {
		f := webhook.SecretFunc(func(context.Context, http.Header, []byte) (webhook.Secrets, string, error) {
			return tc.s, "shop", tc.err
		})
		s, tenant, err := f.SecretsFor(t.Context(), nil, nil)
		require.ErrorIs(t, err, tc.want, tc.name)
		if tc.err != nil {
			require.ErrorIs(t, err, boom, tc.name)
		}
		if tc.want == nil {
			require.Equal(t, "shop", tenant)
			require.Equal(t, tc.s, s)
		} else {
			require.Empty(t, s, tc.name)
		}
	}
}
