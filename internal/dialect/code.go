package dialect

import "reflect"

// find returns what read finds in err or in what it wraps.
func find(err error, read func(reflect.Value) (int64, bool)) (int64, bool) {
	if err == nil {
		return 0, false
	}
	if v := reflect.ValueOf(err); v.Kind() != reflect.Pointer || !v.IsNil() {
		if n, ok := read(v); ok {
			return n, true
		}
	}
	switch e := err.(type) { //nolint:errorlint // this is what unwraps
	case interface{ Unwrap() error }:
		return find(e.Unwrap(), read)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if n, ok := find(one, read); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// mysqlNumber returns the error number of a MySQL server. The driver's type is
// known by its name and field: to import it would make it a dependency.
func mysqlNumber(err error) (int64, bool) {
	return find(err, func(v reflect.Value) (int64, bool) {
		v = reflect.Indirect(v)
		if v.Kind() != reflect.Struct || v.Type().Name() != "MySQLError" {
			return 0, false
		}
		return integer(v.FieldByName("Number"))
	})
}

// sqliteCode returns SQLite's result code, the extended one if the driver has
// it.
func sqliteCode(err error) (int64, bool) {
	return find(err, func(v reflect.Value) (int64, bool) {
		if n, ok := call(v.MethodByName("ExtendedCode")); ok {
			return n, true
		}
		if n, ok := call(v.MethodByName("Code")); ok {
			return n, true
		}
		if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
			return 0, false
		}
		if n, ok := integer(v.FieldByName("ExtendedCode")); ok && n != 0 {
			return n, true
		}
		return integer(v.FieldByName("Code"))
	})
}

// call returns what a method without arguments returns, if that is an integer.
func call(method reflect.Value) (int64, bool) {
	if !method.IsValid() {
		return 0, false
	}
	if t := method.Type(); t.NumIn() != 0 || t.NumOut() != 1 {
		return 0, false
	}
	return integer(method.Call(nil)[0])
}

// integer returns the value of any kind of integer.
func integer(v reflect.Value) (int64, bool) {
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), true
	}
	return 0, false
}
