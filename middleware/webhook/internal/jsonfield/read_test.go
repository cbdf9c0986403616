package jsonfield_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
)

// read returns the values at paths.
func read(body string, paths ...string) ([]string, error) {
	fields := make([]jsonfield.Field, len(paths))
	for i, p := range paths {
		fields[i].Path = p
	}
	err := jsonfield.Read([]byte(body), fields)
	values := make([]string, len(paths))
	for i, f := range fields {
		values[i] = string(f.Value)
	}
	return values, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ body, path, want string }{
		{`{"a":1}`, "a", "1"},
		{` { "a" : [ 1 , {"a":2} ] , "b" : "x" } `, "a", `[ 1 , {"a":2} ]`},
		{`{"a":{"b":{"c":true}}}`, "a.b.c", "true"},
		{`{"a":{"b":{"c":true}}}`, "a.b", `{"c":true}`},
		{`{"a":[{"b":1}]}`, "a.b", ""},
		{`{"a":"b"}`, "a.b", ""},
		{`{"b":{"a":1}}`, "a", ""},
		{`{"a":null}`, "a", ""},
		{`{"A":1}`, "a", ""},
		{`{"a ":1,"":2}`, "a", ""},
		{`{"\u0061":"\""}`, "a", `"\""`},
		{`{"x":"}]\\\"","a":-1.5e3}`, "a", "-1.5e3"},
		{`{"x":[[],{},"]"],"y":{"z":"{"},"a":false}`, "a", "false"},
		{`[{"a":1}]`, "a", ""},
		{`"a"`, "a", ""},
		{`7`, "a", ""},
		{`{}`, "a", ""},
	} {
		got, err := read(tc.body, tc.path)
		require.NoError(t, err, tc.body)
		require.Equal(t, tc.want, got[0], tc.body)
	}
	got, err := read(`{"a":{"b":1,"c":2},"d":3}`, "a.c", "d", "a", "a.b", "none")
	require.NoError(t, err)
	require.Equal(t, []string{"2", "3", `{"b":1,"c":2}`, "1", ""}, got)
}

func TestTwice(t *testing.T) {
	t.Parallel()
	for body, path := range map[string]string{
		`{"a":1,"a":1}`:                 "a",
		`{"a":1,"\u0061":null}`:         "a",
		`{"a":{"b":1},"a":{}}`:          "a.b",
		`{"a":7,"a":{"b":1}}`:           "a.b",
		`{"a":{"b":1,"x":2,"b":3}}`:     "a.b",
		`{"a":{"b":{"c":1}},"a":{}}`:    "a.b.c",
		`{"a":{"b":{"c":1,"c":{}}}}`:    "a.b.c",
		`{"x":1,"a":[],"y":"a","a":[]}`: "a",
	} {
		_, err := read(body, path)
		require.ErrorIs(t, err, jsonfield.ErrTwice, body)
	}
	for _, body := range []string{`{"x":1,"x":2}`, `{"x":{"a":1,"a":2}}`, `{"a":{"x":1,"x":2}}`, `{"a":[{"b":1,"b":2}]}`, `{"A":1,"a":2}`} {
		_, err := read(body, "a.b")
		require.NoError(t, err, body)
	}
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", " ", "{", `{"a"}`, `{"a":1}x`, `{"a":1}{}`, `{a:1}`, "\ufeff{}", `{"a":1,}`, strings.Repeat("[", 20_000)} {
		_, err := read(body, "a")
		require.ErrorIs(t, err, jsonfield.ErrSyntax, body)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // String and ID
		`"x"`:            {"x", "x"},
		`"\u00e9\/\n"`:   {"é/\n", "é/\n"},
		`"\ud83d\ude00"`: {"😀", "😀"},
		`"\ud83d"`:       {"", ""},
		`""`:             {"", ""},
		`12`:             {"", "12"},
		`-12`:            {"", "-12"},
		`1.5`:            {"", ""},
		`1e3`:            {"", ""},
		`true`:           {"", ""},
		`{"a":1}`:        {"", ""},
		``:               {"", ""},
	} {
		require.Equal(t, want, [2]string{jsonfield.Value(text).String(), jsonfield.Value(text).ID()}, text)
	}
	for text, want := range map[string]time.Time{
		`1735689600`:                  time.Unix(1735689600, 0),
		`"2025-01-01T00:00:00.25Z"`:   time.Unix(1735689600, 25e7),
		`"2025-01-01T02:00:00+02:00"`: time.Unix(1735689600, 0),
		`"yesterday"`:                 {},
		`"1735689600"`:                {},
		`1.5`:                         {},
		``:                            {},
	} {
		require.True(t, want.Equal(jsonfield.Value(text).Time()), text)
	}
}

// FuzzRead: Read finds what encoding/json finds where that has no choice to
// make.
func FuzzRead(f *testing.F) {
	for _, body := range []string{`{"a":{"b":"c"}}`, `{"a":1,"a":2}`, `{"\u0061":{"\u0062":[]}}`, `{`, ` {"x":"\\","a":{"b": null}}`, `{"a":{"b":"\""}}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := read(body, "a.b")
		require.Equal(t, json.Valid([]byte(body)), err != jsonfield.ErrSyntax)
		if err != nil {
			return
		}
		// A map keeps names in either case apart.
		var outer, inner map[string]json.RawMessage
		if json.Unmarshal([]byte(body), &outer) != nil || json.Unmarshal(outer["a"], &inner) != nil {
			require.Empty(t, got[0])
			return
		}
		want := strings.TrimSpace(string(inner["b"]))
		if want == "null" {
			want = ""
		}
		require.Equal(t, want, got[0])
	})
}
