package main

import (
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// badAddress says how a server is named. It repeats nothing of what was given:
// that may hold a password.
func badAddress() error {
	return usage("the server's address is not understood: it is like redis://user:password@host:6379/0 " +
		"(rediss:// for TLS; several as host:port,host:port; in user and password all but letters " +
		"and digits percent-encoded)")
}

// parseAddress reads the URL of a server, of several nodes of a Cluster, or of
// Sentinels. Of the options that may follow its path, ?protocol, client_name and
// skip_verify have an effect.
func parseAddress(text string) (*redis.UniversalOptions, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "redis" && scheme != "rediss" {
		return nil, badAddress()
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	all := strings.Split(hosts, ",")
	first, err := redis.ParseURL(scheme + "://" + user + all[0] + rest)
	if err != nil {
		return nil, badAddress()
	}
	o := &redis.UniversalOptions{
		Addrs: []string{first.Addr}, DB: first.DB, Username: first.Username, Password: first.Password,
		TLSConfig: first.TLSConfig, Protocol: first.Protocol, ClientName: first.ClientName,
	}
	if len(all) == 1 {
		return o, nil
	}
	for _, host := range all[1:] {
		if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" {
			return nil, badAddress()
		}
		o.Addrs = append(o.Addrs, host)
	}
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = "" // Each server is held to its own name.
	}
	return o, nil
}
