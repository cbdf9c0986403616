package commandhash_test

import (
	"math/big"
	"reflect"
	"time"
)

// equal says whether two values of one type mean the same, by what
// docs/command-hash.md calls equal and without any encoding.
func equal(a, b reflect.Value, set bool) bool {
	switch a.Type() {
	case reflect.TypeFor[time.Time]():
		return a.Interface().(time.Time).Equal(b.Interface().(time.Time))
	case reflect.TypeFor[big.Int]():
		x, y := a.Interface().(big.Int), b.Interface().(big.Int)
		return x.Cmp(&y) == 0
	case reflect.TypeFor[money]():
		x, y := a.Interface().(money), b.Interface().(money)
		return x.value() == y.value()
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return equal(a.Elem(), b.Elem(), false)
	case reflect.Slice, reflect.Array:
		return equalLists(a, b, set)
	case reflect.Map:
		return equalMaps(a, b)
	case reflect.Struct:
		return equalStructs(a, b)
	default:
		return a.Equal(b)
	}
}

func equalLists(a, b reflect.Value, set bool) bool {
	if a.Len() != b.Len() {
		return false
	}
	if set {
		return paired(a.Len(), func(i, j int) bool { return equal(a.Index(i), b.Index(j), false) })
	}
	for i := range a.Len() {
		if !equal(a.Index(i), b.Index(i), false) {
			return false
		}
	}
	return true
}

func equalMaps(a, b reflect.Value) bool {
	ka, kb := a.MapKeys(), b.MapKeys()
	return len(ka) == len(kb) && paired(len(ka), func(i, j int) bool {
		return equal(ka[i], kb[j], false) && equal(a.MapIndex(ka[i]), b.MapIndex(kb[j]), false)
	})
}

// paired says whether n things and n others can be paired so that each two are
// the same. That is an equivalence, so the first partner is as good as any.
func paired(n int, same func(i, j int) bool) bool {
	taken := make([]bool, n)
	for i := range n {
		j := 0
		for j < n && (taken[j] || !same(i, j)) {
			j++
		}
		if j == n {
			return false
		}
		taken[j] = true
	}
	return true
}

func equalStructs(a, b reflect.Value) bool {
	if a.Type().PkgPath() == "net/netip" {
		return a.Interface() == b.Interface()
	}
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if !f.IsExported() || f.Tag.Get("semel") == "-" || f.Type.Kind() == reflect.Func {
			continue
		}
		set := f.Tag.Get("semel") == "set" || f.Tag.Get("semel") == "name=leaf set,set"
		if !equal(a.Field(i), b.Field(i), set) {
			return false
		}
	}
	return true
}
