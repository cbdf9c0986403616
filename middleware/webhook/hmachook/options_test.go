package hmachook_test

import (
	"crypto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string]webhook.SecretSource{
		"nil":          nil,
		"nil function": webhook.SecretFunc(nil),
		"none":         webhook.Secrets{},
		"empty":        webhook.Secrets{secret, ""},
		"newline":      webhook.Secrets{secret + "\n"},
	} {
		_, err := hmachook.New("ledger", secrets, simple())
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret, name)
	}
}

// TestConstructor: each option that is wrong is named.
func TestConstructor(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*hmachook.Options){
		"field Header is empty":                   func(o *hmachook.Options) { o.Header = "" },
		`field Header: "a b" is no header's name`: func(o *hmachook.Options) { o.Header = "a b" },
		`field IDHeader: "a:" is no`:              func(o *hmachook.Options) { o.IDHeader = "a:" },
		`field TypeHeader: "é" is no`:             func(o *hmachook.Options) { o.TypeHeader, o.TypeField = "é", "" },
		`field TimestampHeader: "\n" is no`:       func(o *hmachook.Options) { o.TimestampHeader = "\n" },
		"field Encoding: 3":                       func(o *hmachook.Options) { o.Encoding = 3 },
		"field Encoding: -1":                      func(o *hmachook.Options) { o.Encoding = -1 },
		"field Hash: SHA-1 is not":                func(o *hmachook.Options) { o.Hash = crypto.SHA1 },
		"field Hash: MD5 is not":                  func(o *hmachook.Options) { o.Hash = crypto.MD5 },
		"field Hash: SHA-512/256 is not":          func(o *hmachook.Options) { o.Hash = crypto.SHA512_256 },
		"field TimestampUnit: 2":                  func(o *hmachook.Options) { o.TimestampUnit = 2 },
		"field Tolerance is negative":             func(o *hmachook.Options) { o.Tolerance = -1 },
		"field Tolerance needs TimestampHeader": func(o *hmachook.Options) {
			o.Tolerance, o.TimestampHeader, o.Content = time.Minute, "", "{id}.{body}"
		},
		"field IDHeader and IDField are empty":            func(o *hmachook.Options) { o.IDHeader, o.Content = "", "{timestamp}.{body}" },
		"field IDHeader and IDField exclude":              func(o *hmachook.Options) { o.IDField = "id" },
		"field IDHeader is empty, and Content holds {id}": func(o *hmachook.Options) { o.IDHeader, o.IDField = "", "id" },
		"field TypeHeader and TypeField exclude":          func(o *hmachook.Options) { o.TypeHeader = "Type" },
		`field TypeField: "a..b" has an empty`:            func(o *hmachook.Options) { o.TypeField = "a..b" },
		`field IDField: ".a" has an empty`:                func(o *hmachook.Options) { o.IDField, o.IDHeader, o.Content = ".a", "", "{timestamp}.{body}" },
		"field TimestampHeader is not part of Content":    func(o *hmachook.Options) { o.Content = "{id}.{body}" },
		"field TimestampHeader is empty, and":             func(o *hmachook.Options) { o.TimestampHeader = "" },
		"field Content: it must hold {body}":              func(o *hmachook.Options) { o.Content = "{id}.{timestamp}" },
		"field Content: {body} is there twice":            func(o *hmachook.Options) { o.Content = "{id}.{timestamp}.{body}.{body}" },
		`field Content: "{Body}" is none`:                 func(o *hmachook.Options) { o.Content = "{Body}" },
		"field Content: { without }":                      func(o *hmachook.Options) { o.Content = "{id}.{timestamp}.{body" },
		"field Content: } without {":                      func(o *hmachook.Options) { o.Content = "a}{body}" },
		"field Content: {id}{body} needs literal":         func(o *hmachook.Options) { o.Content = "{timestamp}.{id}{body}" },
		"field Content: {timestamp}{id} needs literal":    func(o *hmachook.Options) { o.Content = "{timestamp}{id}.{body}" },
	} {
		o := ledger()
		change(&o)
		_, err := hmachook.New("ledger", webhook.Secrets{secret}, o)
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, strings.Count(err.Error(), "field "), "nothing else is wrong: %v", err)
	}
	for _, name := range []string{"", "Ledger", "my ledger"} {
		_, err := hmachook.New(name, webhook.Secrets{secret}, ledger())
		require.ErrorContains(t, err, "the name", name)
	}
	_, err := hmachook.New("", nil, hmachook.Options{})
	require.ErrorContains(t, err, "the name")
	require.ErrorIs(t, err, webhook.ErrSecrets)
	require.ErrorContains(t, err, "field Header")
	require.ErrorContains(t, err, "field IDHeader")
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	o := simple()
	require.Equal(t, webhook.Policy{}, open(t, o, secret).Policy())
	o.Policy = webhook.Policy{Wait: time.Second, OK: 202}
	require.Equal(t, o.Policy, open(t, o, secret).Policy())
}
