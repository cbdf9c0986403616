package slackhook_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
)

// verify verifies a genuine delivery of body.
func verify(t *testing.T, o slackhook.Options, body string) (webhook.Delivery, error) {
	t.Helper()
	return open(t, o).Verify(t.Context(), request(signer(), body).Header, []byte(body))
}

func TestEvent(t *testing.T) {
	t.Parallel()
	require.Equal(t, "slack", open(t, slackhook.Options{}).Provider())
	d, err := verify(t, slackhook.Options{}, mention)
	require.Equal(t, webhook.Event{
		Provider: "slack", Tenant: "A0MDYCDME/T061EG9R6", ID: "Ev9UQ52YNA", IDSigned: true, Type: "app_mention",
		Resource: "C0LAN2Q65", Time: now, Body: []byte(mention),
	}, event(t, d, err))

	d, err = verify(t, slackhook.Options{}, "\n "+`{"type":"event_callback","event_id":"Ev1","enterprise_id":"E1","event":{"item":{"channel":"C2"}}}`)
	e := event(t, d, err)
	require.Equal(t, []string{"Ev1", "E1", "C2", ""}, []string{e.ID, e.Tenant, e.Resource, e.Type})

	d, err = verify(t, slackhook.Options{},
		`{"type":"app_rate_limited","team_id":"T1","api_app_id":"A1","minute_rate_limited":1518467820}`)
	e = event(t, d, err)
	require.Equal(t, []string{"app_rate_limited:1518467820", "A1/T1", "app_rate_limited"}, []string{e.ID, e.Tenant, e.Type})
	require.Equal(t, time.Unix(1518467820, 0).UTC(), e.Time)
}

func TestCommand(t *testing.T) {
	t.Parallel()
	d, err := verify(t, slackhook.Options{}, command)
	require.Equal(t, webhook.Event{
		Provider: "slack", Tenant: "A0MDYCDME/T061EG9R6", ID: "398738663015.47445629121.803a0bc887", IDSigned: true,
		Type: "/deploy", Resource: "C0LAN2Q65", Body: []byte(command),
	}, event(t, d, err))
}

func TestInteraction(t *testing.T) {
	t.Parallel()
	d, err := verify(t, slackhook.Options{}, interaction(click))
	require.Equal(t, webhook.Event{
		Provider: "slack", Tenant: "A0MDYCDME/T061EG9R6", ID: "1.2.3", IDSigned: true, Type: "block_actions",
		Resource: "C0LAN2Q65", Body: []byte(click), ContentType: "application/json",
	}, event(t, d, err))

	id := func(payload string) string {
		d, err := verify(t, slackhook.Options{}, interaction(payload))
		return event(t, d, err).ID
	}
	one, other := id(`{"type":"view_closed","view":{"id":"V1"}}`), id(`{"type":"view_closed","view":{"id":"V2"}}`)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", one)
	require.NotEqual(t, one, other)
	require.Equal(t, one, id(`{"type":"view_closed","view":{"id":"V1"}}`))

	d, err = verify(t, slackhook.Options{}, interaction(`{"type":"view_submission","team":null,"enterprise":{"id":"E1"},"trigger_id":"t",`+
		`"container":{"channel_id":"C3"}}`))
	e := event(t, d, err)
	require.Equal(t, []string{"E1", "C3"}, []string{e.Tenant, e.Resource})
}

// TestPassthrough: what is genuine and no event runs unclaimed, and holds none.
func TestPassthrough(t *testing.T) {
	t.Parallel()
	for body, reply := range map[string]string{
		`{"token":"t","challenge":"3eZbrw1aB<10>","type":"url_verification"}`: "3eZbrw1aB<10>",
		`{"type":"url_verification"}`:                                         "",
		"ssl_check=1&token=t":                                                 "",
		interaction(`{"type":"block_suggestion","value":"a"}`):                "",
		interaction(`{"type":"dialog_suggestion","value":"a"}`):               "",
	} {
		d, err := verify(t, slackhook.Options{}, body)
		require.NoError(t, err, body)
		require.Equal(t, webhook.Delivery{Passthrough: true, Reply: reply}, d, body)
	}
	d, err := verify(t, slackhook.Options{}, command+"&ssl_check=1")
	event(t, d, err)
}

// TestOther: what is signed and cannot be told is refused, never run unclaimed.
func TestOther(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `{"type":"event_callback"}`, `{"type":"event_callback","event_id":""}`, `{"type":"event_callback","event_id":7}`,
		`{"type":"other","event_id":"Ev1"}`, `{"event_id":"Ev1"}`, `{"type":"app_rate_limited"}`, `{"Type":"url_verification"}`,
		"", "a=b", "[]", "command=%2Fx", "command=&trigger_id=1", "command=%2Fx&ssl_check=1", "trigger_id=1", "ssl_check=0",
		interaction(`{}`), interaction(`{"trigger_id":"1"}`), interaction(`{"type":""}`), interaction(`[]`),
	} {
		_, err := verify(t, slackhook.Options{}, body)
		require.ErrorIs(t, err, webhook.ErrNoEvent, body)
		require.Empty(t, reason(err), body)
	}
	for _, body := range []string{
		"{", `{"type":"event_callback","event_id":"Ev1"}{}`, `{"type":"url_verification","type":"event_callback","event_id":"Ev1"}`,
		`{"type":"event_callback","event_id":"Ev1","event\u005fid":"Ev2"}`,
		"%", "a=%zz", "a;b", "command=%2Fx&trigger_id=1&trigger_id=2", interaction(click) + "&" + interaction(click),
		"payload=", "payload=x", interaction(`{"type":"block_actions","trigger_id":"1","trigger_id":"2"}`),
	} {
		_, err := verify(t, slackhook.Options{}, body)
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
}

// TestOncePerMessage: of the types that are named, two events of one message are
// one.
func TestOncePerMessage(t *testing.T) {
	t.Parallel()
	o := slackhook.Options{OncePerMessage: []string{"message"}}
	id := func(eventID, inner string) string {
		d, err := verify(t, o, `{"type":"event_callback","event_id":"`+eventID+`","event":`+inner+`}`)
		return event(t, d, err).ID
	}
	first := id("Ev1", `{"type":"message","channel":"C1","ts":"1.1"}`)
	require.Equal(t, "message::C1:1.1", first)
	require.Equal(t, first, id("Ev2", `{"type":"message","channel":"C1","ts":"1.1","client_msg_id":"x"}`))
	for _, other := range []string{
		`{"type":"message","channel":"C2","ts":"1.1"}`, `{"type":"message","channel":"C1","ts":"1.2"}`,
		`{"type":"message","channel":"C1","ts":"1.1","subtype":"bot_message"}`,
	} {
		require.NotEqual(t, first, id("Ev1", other))
	}
	require.Equal(t, "Ev3", id("Ev3", `{"type":"app_mention","channel":"C1","ts":"1.1"}`))
	require.Equal(t, "Ev4", id("Ev4", `{"type":"message","ts":"1.1"}`))
	require.Equal(t, "Ev5", id("Ev5", `{"type":"message","channel":"C1"}`))
	_, err := verify(t, o, `{"type":"event_callback","event":{"type":"message","channel":"C1","ts":"1.1"}}`)
	require.ErrorIs(t, err, webhook.ErrNoEvent)
}
