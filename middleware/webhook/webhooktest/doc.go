// Package webhooktest signs requests as providers do, for tests of your own
// endpoints. It sends nothing, and it shares no code with what verifies.
//
//	req := httptest.NewRequest("POST", "/webhooks/stripe", nil)
//	webhooktest.Stripe(secret).Sign(req, []byte(`{"id":"evt_1","object":"event","type":"invoice.paid"}`))
//
// Sign makes body the request's body and sets the headers that the provider
// would send. Signing the same body twice makes two deliveries of one event.
// Signers are values: At and ID return a changed copy, and one may be shared.
//
// What no signer can be made of, such as a secret in the wrong form, panics.
package webhooktest
