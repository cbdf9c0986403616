package paypalhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
)

// dialer opens a connection, as net.Dialer.DialContext does.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// newFetcher returns the Fetch that is used by default. Its client is its own:
// the default one follows redirects, and goes through whatever proxy the
// environment names. dial is nil for the network, roots nil for the system's.
//
// Its context bounds it, but the transport goes on opening a connection that
// nobody waits for any more: that has bounds of its own.
func newFetcher(dial dialer, roots *x509.CertPool) func(context.Context, string) ([]byte, error) {
	if dial == nil {
		dial = (&net.Dialer{Timeout: fetchTimeout}).DialContext
	}
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout:    fetchTimeout,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
			DisableKeepAlives:      true, // the next is in months
		},
	}
	return func(ctx context.Context, url string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }()
		if err := judge(res.StatusCode); err != nil {
			return nil, err
		}
		// One byte more than is allowed tells what is larger.
		return io.ReadAll(io.LimitReader(res.Body, maxCertificateFile+1))
	}
}

// judge returns what a status other than 200 means. That there is no such
// certificate, or that it is elsewhere, refuses the delivery: PayPal does not
// send that of its own URLs. All else may be better in a while.
func judge(status int) error {
	err := fmt.Errorf("PayPal answered %d", status)
	switch {
	case status == http.StatusOK:
		return nil
	case status >= 300 && status <= 399,
		status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusGone:
		return untrusted(err)
	}
	return err
}
