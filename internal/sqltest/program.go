package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// startTimeout is how long a server may take to answer. It answers within
	// some 200 ms on an idle machine.
	startTimeout = 60 * time.Second
	// adminTimeout bounds one command of ours.
	adminTimeout = 30 * time.Second
	// pollEvery is the pause between two looks at something that will change.
	pollEvery = 5 * time.Millisecond
)

// command is a program and how it is called.
type command struct {
	program string
	args    []string
	env     []string // in addition to ours
}

// build makes the command ready to be run.
func (c command) build(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	// What this process is told by its environment is not for a server or a
	// client that a test has set up.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "MYSQL") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, c.env...)
	cmd.Dir = "/" // Another user may not enter ours.
	return cmd
}

// run runs the command to its end and returns what it said.
func (c command) run(as user) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	cmd := c.build(ctx)
	cmd.SysProcAttr = as.attributes()
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(c.program), err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// user is who runs a server.
type user struct {
	other    bool // not who we are
	uid, gid uint32
}

// servant is who shall run a server: we, or the first of some users if we are
// root, as which PostgreSQL refuses to run.
func servant(names ...string) (user, error) {
	if os.Geteuid() != 0 {
		return user{}, nil
	}
	var errs []error
	for _, name := range names {
		u, err := osuser.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return user{other: true, uid: uint32(uid), gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return user{}, errors.Join(errs...)
}

// own gives a directory and what is in it to the user.
func (u user) own(dir string) error {
	if !u.other {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(u.uid), int(u.gid))
	})
}

// find returns the first of some programs that is in the PATH or in one of the
// directories.
func find(dirs []string, names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
		for _, dir := range dirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("no %s in the PATH", strings.Join(names, " or "))
}

// poll asks again and again until it is told yes or an error, or for too long.
func poll(limit time.Duration, ask func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v", limit)
		}
		time.Sleep(pollEvery)
	}
}
