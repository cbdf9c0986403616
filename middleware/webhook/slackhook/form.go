package slackhook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
)

// What is wrong with a form.
var (
	errForm  = errors.New("the body is neither JSON nor a form")
	errTwice = errors.New("a field is there twice in the form")
)

// readForm reads a slash command, an interaction, or a check of the endpoint.
func readForm(body []byte) (webhook.Delivery, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, errForm)
	}
	for _, values := range form {
		if len(values) > 1 { // two readers would each choose another
			return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, errTwice)
		}
	}
	switch {
	case form.Has("payload"):
		return readInteraction([]byte(form.Get("payload")))
	case form.Get("command") != "" && form.Get("trigger_id") != "":
		return webhook.Delivery{Events: []webhook.Event{{
			Tenant:   tenant(form.Get("api_app_id"), form.Get("team_id"), form.Get("enterprise_id")),
			ID:       form.Get("trigger_id"),
			Type:     form.Get("command"),
			Resource: form.Get("channel_id"),
			Body:     body,
		}}}, nil
	case form.Get("ssl_check") == "1" && form.Get("command") == "":
		return webhook.Delivery{Passthrough: true}, nil
	}
	return webhook.Delivery{}, fmt.Errorf("%w: the form is no command and no interaction", webhook.ErrNoEvent)
}

// readInteraction reads the payload of an interaction.
func readInteraction(payload []byte) (webhook.Delivery, error) {
	const kind, trigger, app, team, enterprise, channel, container = 0, 1, 2, 3, 4, 5, 6
	f := [...]jsonfield.Field{
		kind:       {Path: "type"},
		trigger:    {Path: "trigger_id"},
		app:        {Path: "api_app_id"},
		team:       {Path: "team.id"},
		enterprise: {Path: "enterprise.id"},
		channel:    {Path: "channel.id"},
		container:  {Path: "container.channel_id"},
	}
	if err := jsonfield.Read(payload, f[:]); err != nil {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, err)
	}
	e := webhook.Event{
		Tenant:      tenant(f[app].Value.String(), f[team].Value.String(), f[enterprise].Value.String()),
		ID:          f[trigger].Value.String(),
		Type:        f[kind].Value.String(),
		Resource:    f[channel].Value.String(),
		Body:        payload,
		ContentType: "application/json",
	}
	if e.Resource == "" {
		e.Resource = f[container].Value.String()
	}
	switch e.Type {
	case "":
		return webhook.Delivery{}, fmt.Errorf("%w: the payload has no type", webhook.ErrNoEvent)
	case "block_suggestion", "dialog_suggestion": // they ask for options, again with each letter
		return webhook.Delivery{Passthrough: true}, nil
	}
	if e.ID == "" { // of view_closed and dialogs; no second attempt could differ
		sum := sha256.Sum256(payload)
		e.ID = "sha256:" + hex.EncodeToString(sum[:])
	}
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}
