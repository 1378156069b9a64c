package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// What is done to calls. The first rule that fits a call and has times left applies to it.
type rule struct {
	// NodeStageVolume, GetInfo, …; "" is every call.
	Method string `json:"method"`
	// Only calls for this volume.
	VolumeID string `json:"volumeId"`
	// After the work was done or has failed, rather than instead of it or before it.
	Afterwards bool `json:"afterwards"`
	// Waited before the rest.
	DelayMs int64 `json:"delayMs"`
	// Waits until the caller gives up or the rule is removed; then the rest.
	Hang bool `json:"hang"`
	// The driver dies, as by SIGKILL.
	Die bool `json:"die"`
	// The call fails with this code of gRPC by name (Internal, Unavailable, …) and this message.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Merged into the answer of a call that worked: fields by their JSON names.
	Answer json.RawMessage `json:"answer"`
	// How many calls; 0 is all of them.
	Times int `json:"times"`

	spent int
}

func (r *rule) fits(method, volumeID string) bool {
	return (r.Method == "" || r.Method == method) &&
		(r.VolumeID == "" || r.VolumeID == volumeID) &&
		(r.Times == 0 || r.spent < r.Times)
}

type control struct {
	volumes *volumes
	calls   *calls
	lock    sync.Mutex
	rules   []*rule
	// Closed when rules are replaced: what hangs by them goes on.
	replaced chan struct{}
}

func newControl(volumes *volumes, calls *calls, rules []*rule) *control {
	return &control{volumes: volumes, calls: calls, rules: rules, replaced: make(chan struct{})}
}

// PUT /rules replaces all rules by a list; POST /volumes makes a volume of the id and size that the test wants.
func (c *control) serve(listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /rules", func(response http.ResponseWriter, request *http.Request) {
		rules, err := parseRules(request.Body)
		if err == nil {
			c.replace(rules)
		}
		answer(response, err)
	})
	mux.HandleFunc("POST /volumes", func(response http.ResponseWriter, request *http.Request) {
		var made volume
		err := json.NewDecoder(request.Body).Decode(&made)
		if err == nil {
			err = c.volumes.create(made)
		}
		answer(response, err)
	})
	return http.Serve(listener, mux)
}

func parseRules(text io.Reader) ([]*rule, error) {
	var rules []*rule
	decoder := json.NewDecoder(text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rules); err != nil {
		return nil, err
	}
	for _, each := range rules {
		if _, known := codeByName[each.Code]; each.Code != "" && !known {
			return nil, fmt.Errorf("code %q is unknown", each.Code)
		}
	}
	return rules, nil
}

func answer(response http.ResponseWriter, err error) {
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
	}
}

func (c *control) replace(rules []*rule) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.rules = rules
	close(c.replaced)
	c.replaced = make(chan struct{})
}

// The rule that applies to a call, if any, which then counts, and what is closed when it is removed.
func (c *control) ruleFor(method, volumeID string) (*rule, <-chan struct{}) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, each := range c.rules {
		if each.fits(method, volumeID) {
			each.spent++
			return each, c.replaced
		}
	}
	return nil, nil
}

// Every call of the driver and of its registration goes through here.
func (c *control) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	method := path.Base(info.FullMethod)
	number := c.calls.began(method, asJSON(request))
	response, err := c.carryOut(ctx, method, request, handler)
	if err != nil {
		response = nil
	}
	c.calls.ended(number, status.Code(err).String(), status.Convert(err).Message(), asJSON(response))
	return response, err
}

func (c *control) carryOut(ctx context.Context, method string, request any, handler grpc.UnaryHandler) (any, error) {
	volumeID := ""
	if of, ok := request.(interface{ GetVolumeId() string }); ok {
		volumeID = of.GetVolumeId()
	}
	applied, removed := c.ruleFor(method, volumeID)
	if applied == nil {
		return handler(ctx, request)
	}
	if !applied.Afterwards {
		if err := applied.apply(ctx, removed); err != nil {
			return nil, err
		}
	}
	response, err := handler(ctx, request)
	if applied.Afterwards {
		if err := applied.apply(ctx, removed); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if message := asMessage(response); message != nil && len(applied.Answer) > 0 {
		part := message.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(applied.Answer, part); err != nil {
			return nil, status.Errorf(codes.Internal, "the rule's answer does not fit %s: %v", method, err)
		}
		proto.Merge(message, part)
	}
	return response, nil
}

func (r *rule) apply(ctx context.Context, removed <-chan struct{}) error {
	if r.Hang {
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-removed:
		}
	}
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-time.After(time.Duration(r.DelayMs) * time.Millisecond):
	}
	if r.Die {
		must(0, syscall.Kill(os.Getpid(), syscall.SIGKILL))
		select {}
	}
	if r.Code != "" {
		return status.Error(codeByName[r.Code], r.Message)
	}
	return nil
}

var codeByName = func() map[string]codes.Code {
	names := map[string]codes.Code{}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		names[code.String()] = code
	}
	return names
}()

// Messages of CSI are of protobuf's first API, those of the registration are of the second.
func asMessage(any any) proto.Message {
	switch message := any.(type) {
	case proto.Message:
		return message
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(message)
	}
	return nil
}

// Null for a call that failed.
func asJSON(any any) json.RawMessage {
	message := asMessage(any)
	if message == nil {
		return nil
	}
	return must(protojson.Marshal(message))
}
