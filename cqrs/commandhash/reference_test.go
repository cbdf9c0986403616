package commandhash_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/semel-go/semel/cqrs/commandhash"
)

// reference writes preimages as docs/command-hash.md says, and shares no code
// with the package: no compiled types, no pools, an error for what has no form.
// It does not refuse types.
func reference(name, scope string, command any) ([]byte, error) {
	v := reflect.ValueOf(command)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, errors.New("nil command")
		}
		v = v.Elem()
	}
	value, err := refValue(v, false)
	return slices.Concat([]byte("semel1\x00"), refBytes(name), refBytes(scope), value), err
}

func refCount(n uint64) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func refZigZag(n int64) []byte {
	if n < 0 {
		return refCount(uint64(-(n+1))*2 + 1)
	}
	return refCount(uint64(n) * 2)
}

func refBytes[T ~string | ~[]byte](s T) []byte {
	return append(refCount(uint64(len(s))), s...)
}

// refValue writes v; set says that its order does not count.
func refValue(v reflect.Value, set bool) ([]byte, error) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		if v.IsNil() {
			return []byte("n"), nil
		}
		b, err := refValue(v.Elem(), false)
		if t.Elem().Kind() == reflect.Pointer {
			b = append([]byte("p"), b...)
		}
		return b, err
	}
	address := reflect.New(t)
	address.Elem().Set(v)
	switch a := address.Interface().(type) {
	case *time.Time:
		return slices.Concat([]byte("z"), refZigZag(a.Unix()), refCount(uint64(a.Nanosecond()))), nil
	case commandhash.Appender:
		b, err := a.AppendIdempotency(nil)
		return append([]byte("a"), refBytes(b)...), err
	case encoding.TextMarshaler:
		if t.Kind() == reflect.Struct && refOpaque(t) {
			b, err := a.MarshalText()
			return append([]byte("q"), refBytes(b)...), err
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []byte("t"), nil
		}
		return []byte("f"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return append([]byte("i"), refZigZag(v.Int())...), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return append([]byte("u"), refCount(v.Uint())...), nil
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) {
			return nil, errors.New("NaN")
		}
		bits := math.Float64bits(f)
		if bits == 1<<63 {
			bits = 0
		}
		return binary.BigEndian.AppendUint64([]byte("d"), bits), nil
	case reflect.String:
		return append([]byte("s"), refBytes(v.String())...), nil
	case reflect.Slice, reflect.Array:
		return refList(v, set)
	case reflect.Map:
		var entries [][]byte
		for key, elem := range v.Seq2() {
			k, err1 := refValue(key, false)
			e, err2 := refValue(elem, false)
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			entries = append(entries, append(k, e...))
		}
		slices.SortFunc(entries, bytes.Compare)
		return slices.Concat([]byte("m"), refCount(uint64(v.Len())), slices.Concat(entries...)), nil
	case reflect.Struct:
		return refStruct(v)
	}
	return nil, errors.New("no form")
}

func refList(v reflect.Value, set bool) ([]byte, error) {
	_, own := reflect.New(v.Type().Elem()).Interface().(commandhash.Appender)
	if v.Type().Elem().Kind() == reflect.Uint8 && !own {
		b := make([]byte, 0, v.Len())
		for i := range v.Len() {
			b = append(b, byte(v.Index(i).Uint()))
		}
		return append([]byte("x"), refBytes(b)...), nil
	}
	var elems [][]byte
	for i := range v.Len() {
		e, err := refValue(v.Index(i), false)
		if err != nil {
			return nil, err
		}
		elems = append(elems, e)
	}
	tag := "l"
	if set {
		tag = "e"
		slices.SortFunc(elems, bytes.Compare)
	}
	return slices.Concat([]byte(tag), refCount(uint64(len(elems))), slices.Concat(elems...)), nil
}

func refStruct(v reflect.Value) ([]byte, error) {
	allowList := strings.Contains(refTags(v.Type()), ",key,")
	named := map[string][]byte{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		words := "," + f.Tag.Get("semel") + ","
		if refNone(f) || words == ",-," || allowList && !strings.Contains(words, ",key,") {
			continue
		}
		name := f.Name
		if json, _, _ := strings.Cut(f.Tag.Get("json"), ","); json != "" && json != "-" {
			name = json
		}
		if _, after, ok := strings.Cut(words, ",name="); ok {
			name, _, _ = strings.Cut(after, ",")
		}
		set := strings.Contains(words, ",set,")
		if refOwn(f.Type) && v.Field(i).IsZero() {
			continue
		}
		b, err := refValue(v.Field(i), set)
		if err != nil {
			return nil, err
		}
		if zero, err := refValue(reflect.Zero(f.Type), set); err == nil && bytes.Equal(b, zero) {
			continue
		}
		named[name] = b
	}
	names := make([]string, 0, len(named))
	for name := range named {
		names = append(names, name)
	}
	slices.Sort(names)
	b := []byte("{")
	for _, name := range names {
		b = slices.Concat(b, refBytes(name), named[name])
	}
	return append(b, 0), nil
}

// refTags returns all the words of a struct's semel tags, each between commas.
func refTags(t reflect.Type) string {
	all := ","
	for i := range t.NumField() {
		if words, ok := t.Field(i).Tag.Lookup("semel"); ok {
			all += words + ","
		}
	}
	return all
}

// refNone reports whether a field is none.
func refNone(f reflect.StructField) bool {
	return f.Name == "_" || f.Type.Kind() == reflect.Struct && f.Type.Size() == 0
}

// refOpaque reports whether a struct is written by its MarshalText.
func refOpaque(t reflect.Type) bool {
	unexported := false
	for i := range t.NumField() {
		f := t.Field(i)
		unexported = unexported || !f.IsExported() && !refNone(f)
	}
	return unexported && refTags(t) == ","
}

// refOwn reports whether a type has tag q or a, or is an array of such.
func refOwn(t reflect.Type) bool {
	for t.Kind() == reflect.Array {
		t = t.Elem()
	}
	switch reflect.New(t).Interface().(type) {
	case *time.Time:
		return false
	case commandhash.Appender:
		return t.Kind() != reflect.Pointer
	case encoding.TextMarshaler:
		return t.Kind() == reflect.Struct && refOpaque(t)
	}
	return false
}
