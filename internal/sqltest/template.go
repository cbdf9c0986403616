package sqltest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// populate makes a new cluster in the server's directory. That takes seconds
// the first time on a machine and for each version; then it is a copy.
func (s *instance) populate() error {
	data, as := s.file("data"), s.engine.user()
	template := s.template()
	if template != "" && os.CopyFS(data, os.DirFS(template)) == nil {
		return errors.Join(os.Chmod(data, 0o700), as.own(data))
	}
	// Half a copy is none.
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	if _, err := s.engine.create(data).run(as); err != nil {
		return err
	}
	if template != "" {
		s.keep(data, template)
	}
	return nil
}

// template is where copies are made from: below this user's cache, since what
// lies there is run. It is "" where there is none.
func (s *instance) template() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	version, err := s.engine.version().run(user{})
	if err != nil {
		return ""
	}
	// Whoever makes a cluster in another way gets another template.
	recipe := strings.Join(s.engine.create("").args, " ")
	sum := sha256.Sum256([]byte(version + "\n" + recipe))
	return filepath.Join(cache, "semel", "sqltest", s.engine.name()+"-"+hex.EncodeToString(sum[:8]))
}

// keep makes a template of a new cluster, as a whole or not at all. That it
// cannot be kept costs time and nothing else.
func (s *instance) keep(data, template string) {
	parent := filepath.Dir(template)
	if os.MkdirAll(parent, 0o700) != nil {
		return
	}
	half, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(half) }()
	whole := filepath.Join(half, "data")
	if os.CopyFS(whole, os.DirFS(data)) == nil {
		_ = os.Rename(whole, template) // Another process may have been faster.
	}
}
