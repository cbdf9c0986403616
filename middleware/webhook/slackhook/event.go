package slackhook

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
)

// The types of what the Events API sends.
const (
	callbackType  = "event_callback"
	challengeType = "url_verification"
	limitedType   = "app_rate_limited"
)

// read returns what a body holds whose signature holds. Whether it is JSON or a
// form, it says itself: the Content-Type is not signed.
func (v *Verifier) read(body []byte) (webhook.Delivery, error) {
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return v.readEvent(body)
	}
	return readForm(body)
}

// readEvent reads what the Events API sends.
func (v *Verifier) readEvent(body []byte) (webhook.Delivery, error) {
	const kind, id, app, team, enterprise, at, challenge, minute = 0, 1, 2, 3, 4, 5, 6, 7
	const inner, subtype, channel, item, ts = 8, 9, 10, 11, 12
	f := [...]jsonfield.Field{
		kind:       {Path: "type"},
		id:         {Path: "event_id"},
		app:        {Path: "api_app_id"},
		team:       {Path: "team_id"},
		enterprise: {Path: "enterprise_id"},
		at:         {Path: "event_time"},
		challenge:  {Path: "challenge"},
		minute:     {Path: "minute_rate_limited"},
		inner:      {Path: "event.type"},
		subtype:    {Path: "event.subtype"},
		channel:    {Path: "event.channel"},
		item:       {Path: "event.item.channel"},
		ts:         {Path: "event.ts"},
	}
	if err := jsonfield.Read(body, f[:]); err != nil {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, err)
	}
	e := webhook.Event{
		Tenant:   tenant(f[app].Value.String(), f[team].Value.String(), f[enterprise].Value.String()),
		ID:       f[id].Value.String(),
		Type:     f[inner].Value.String(),
		Resource: f[channel].Value.String(),
		Time:     f[at].Value.Time(),
		Body:     body,
	}
	if e.Resource == "" {
		e.Resource = f[item].Value.String()
	}
	switch f[kind].Value.String() {
	case challengeType:
		return webhook.Delivery{Passthrough: true, Reply: f[challenge].Value.String()}, nil
	case limitedType:
		if at := f[minute].Value; at.ID() != "" {
			e.ID, e.Type, e.Time = limitedType+":"+at.ID(), limitedType, at.Time()
		}
	case callbackType:
		message := f[ts].Value.String()
		if e.ID != "" && message != "" && f[channel].Value.String() != "" && slices.Contains(v.once, e.Type) {
			e.ID = strings.Join([]string{e.Type, f[subtype].Value.String(), e.Resource, message}, ":")
		}
	default:
		return webhook.Delivery{}, fmt.Errorf("%w: it is a %.64q", webhook.ErrNoEvent, f[kind].Value.String())
	}
	if e.ID == "" {
		return webhook.Delivery{}, fmt.Errorf("%w: it has no event_id", webhook.ErrNoEvent)
	}
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// tenant makes one of the app and of the workspace, or of the organization that
// has the app where no workspace does. Slack's ids hold no slash.
func tenant(app, team, enterprise string) string {
	if team == "" {
		team = enterprise
	}
	if app == "" { // in what old apps get
		return team
	}
	return app + "/" + team
}
