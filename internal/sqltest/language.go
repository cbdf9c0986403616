package sqltest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// errLanguage says that the means for another language are missing.
var errLanguage = errors.New("cannot speak another language")

// germanLocale makes a German locale for one server: the machine need have
// none, and need not be changed.
func germanLocale(s *instance) (string, error) {
	const name = "de_DE.UTF-8"
	program, err := find(nil, "localedef")
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(s.file("locale"), 0o700); err != nil {
		return "", err
	}
	if err := s.engine.user().own(s.file("locale")); err != nil {
		return "", err
	}
	c := command{program: program, args: []string{
		"--no-archive", "--inputfile=de_DE", "--charmap=UTF-8", s.file("locale/" + name),
	}}
	_, err = c.run(s.engine.user())
	return name, err
}

// speaks makes sure that the server's messages are in German, by making it
// complain: a server whose translations are not installed falls back to
// English without a word.
func (s *instance) speaks() error {
	_, err := s.engine.exec(s, "SELECT no_such_column").run(user{})
	if err == nil {
		return fmt.Errorf("%s has a column that is not there", s.engine.name())
	}
	for _, english := range []string{"does not exist", "Unknown column"} {
		if strings.Contains(err.Error(), english) {
			return fmt.Errorf("%w: its translations are not installed: %w", errLanguage, err)
		}
	}
	return nil
}
