package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLength bounds one string and the elements of one array, so that a stream
// that is not RESP is an error and not a huge allocation.
const maxLength = 512 << 20

// errSyntax is a stream that is not RESP.
var errSyntax = errors.New("redistest: not RESP")

// ReplyError is an error that a server replied, like "NOSCRIPT No matching
// script".
type ReplyError string

// Error returns the reply without its leading dash.
func (e ReplyError) Error() string { return string(e) }

// Push is what a server sent without being asked (RESP3 only).
type Push []any

// scanner reads RESP2 and RESP3 and keeps the bytes of what it read.
type scanner struct {
	r   *bufio.Reader
	raw []byte
}

// message reads one value and returns it with the bytes it consisted of, which
// are the caller's.
//
// Strings of all kinds, doubles and big numbers become string, integers int64,
// booleans bool, nulls nil, arrays, sets and maps []any, pushes [Push], errors
// [ReplyError]. Attributes are part of the bytes only.
func (s *scanner) message() (value any, raw []byte, err error) {
	s.raw = nil
	value, err = s.value()
	return value, s.raw, err
}

// request reads one command as a client sends it, inline commands included,
// with its bytes. An empty line is a request without arguments.
func (s *scanner) request() (args []string, raw []byte, err error) {
	s.raw = nil
	first, err := s.r.Peek(1)
	if err != nil {
		return nil, nil, err
	}
	if first[0] != '*' {
		line, err := s.line()
		return strings.Fields(line), s.raw, err
	}
	value, err := s.value()
	if err != nil {
		return nil, s.raw, err
	}
	list, _ := value.([]any)
	for _, item := range list {
		arg, ok := item.(string)
		if !ok {
			return nil, s.raw, fmt.Errorf("%w: argument of type %T", errSyntax, item)
		}
		args = append(args, arg)
	}
	return args, s.raw, nil
}

func (s *scanner) value() (any, error) {
	line, err := s.line()
	if err != nil {
		return nil, err
	}
	if line == "" {
		return nil, fmt.Errorf("%w: empty line", errSyntax)
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ',', '(':
		return rest, nil
	case '-':
		return ReplyError(rest), nil
	case ':':
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSyntax, err)
		}
		return n, nil
	case '#':
		return rest == "t", nil
	case '_':
		return nil, nil
	case '$', '=', '!':
		return s.bulk(kind, rest)
	case '*', '~', '>', '%', '|':
		return s.list(kind, rest)
	}
	return nil, fmt.Errorf("%w: type %q", errSyntax, kind)
}

// bulk reads the rest of a string that was announced with its length.
func (s *scanner) bulk(kind byte, length string) (any, error) {
	n, err := parseLength(length)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, nil
	}
	start := len(s.raw)
	s.raw = append(s.raw, make([]byte, n+2)...)
	if _, err := io.ReadFull(s.r, s.raw[start:]); err != nil {
		return nil, unexpected(err)
	}
	text := string(s.raw[start : start+n])
	switch kind {
	case '!':
		return ReplyError(text), nil
	case '=': // "txt:" or "mkd:" precedes the text.
		return text[min(4, n):], nil
	}
	return text, nil
}

// list reads the rest of a value that was announced with its elements.
func (s *scanner) list(kind byte, length string) (any, error) {
	n, err := parseLength(length)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, nil
	}
	if kind == '%' || kind == '|' {
		n *= 2
	}
	items := make([]any, 0, min(n, 1024))
	for range n {
		item, err := s.value()
		if err != nil {
			return nil, unexpected(err)
		}
		items = append(items, item)
	}
	switch kind {
	case '|': // Says something about the value that follows.
		return s.value()
	case '>':
		return Push(items), nil
	}
	return items, nil
}

// line reads up to a line feed and returns it without its line end.
func (s *scanner) line() (string, error) {
	start := len(s.raw)
	line, err := s.r.ReadBytes('\n')
	s.raw = append(s.raw, line...)
	if err != nil {
		if len(line) > 0 {
			err = unexpected(err)
		}
		return "", err
	}
	return strings.TrimRight(string(s.raw[start:]), "\r\n"), nil
}

func parseLength(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < -1 || n > maxLength {
		return 0, fmt.Errorf("%w: length %q", errSyntax, s)
	}
	return n, nil
}

// unexpected makes an end of the stream inside a value an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// command encodes a request.
func command(args ...any) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		var text string
		switch arg := arg.(type) {
		case string:
			text = arg
		case []byte:
			text = string(arg)
		default:
			text = fmt.Sprint(arg)
		}
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(text), text)
	}
	return b
}
