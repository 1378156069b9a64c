// Programs for tests of devices, foreign to the agent that they are about: a device plugin on Kubernetes' own stub of one,
// the DRA driver of Kubernetes' own tests, and a client of the pod resources API.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	commands := map[string]func(context.Context, []string) error{
		"dra":           runDra,
		"plugin":        runPlugin,
		"pod-resources": readPodResources,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: device-programs dra|plugin|pod-resources FLAGS")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
