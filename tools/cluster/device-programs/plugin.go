package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/klog/v2"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	stub "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

// What tests change while the plugin runs.
type behaviour struct {
	mutex         sync.Mutex
	allocateError string
	hung          chan struct{}
}

// Serves devices and registers with the kubelet of the folder, again when that comes back. Reads commands, one a line:
//
//	health ID STATE   reports the device with this health
//	remove ID         reports the devices without it
//	fail TEXT         answers Allocate with an error; without a text no more
//	hang              does not answer Allocate until "go"
//	register          registers again
//
// Prints a line of JSON for each call of Allocate, and "ready" when it is registered.
func runPlugin(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("plugin", flag.ExitOnError)
	folder := flags.String("folder", "", "the kubelet's folder of device plugins")
	socket := flags.String("socket", "plugin.sock", "name of the plugin's socket in it")
	resource := flags.String("resource", "example.com/device", "name of the resource")
	list := flags.String("devices", "a,b", "IDs, each with its NUMA node if it has one: a@0,b@1")
	preStart := flags.Bool("pre-start", false, "PreStartContainer has to be called")
	preferred := flags.Bool("preferred", false, "GetPreferredAllocation may be called: the last devices are preferred")
	_ = flags.Parse(args)

	devices, err := parseDevices(*list)
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	kubelet := filepath.Join(*folder, "kubelet.sock")
	plugin := stub.NewDevicePluginStub(logger, devices, filepath.Join(*folder, *socket), *resource, *preStart, *preferred)
	state := &behaviour{}
	plugin.SetAllocFunc(state.allocate)
	plugin.SetGetPreferredAllocFunc(preferLast)
	if err := plugin.Start(ctx); err != nil {
		return err
	}
	register := func() error { return plugin.Register(ctx, kubelet, *resource, "") }
	if err := register(); err != nil {
		return err
	}
	go plugin.Watch(ctx, kubelet, *resource, "")
	fmt.Println("ready")

	lines := make(chan string)
	go func() {
		scanner := bufio.NewScanner(os.Stdin)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
		close(lines)
	}()
	for {
		select {
		case <-ctx.Done():
			return plugin.Stop(logger)
		case line, ok := <-lines:
			if !ok {
				return plugin.Stop(logger)
			}
			if err := state.command(strings.Fields(line), plugin, &devices, register); err != nil {
				return err
			}
		}
	}
}

func (s *behaviour) command(words []string, plugin *stub.Stub, devices *[]*api.Device, register func() error) error {
	if len(words) == 0 {
		return nil
	}
	named := func(device *api.Device) bool { return len(words) > 1 && device.ID == words[1] }
	switch words[0] {
	case "health":
		changed := []*api.Device{}
		for _, device := range *devices {
			health := device.Health
			if named(device) {
				health = words[2]
			}
			changed = append(changed, &api.Device{ID: device.ID, Health: health, Topology: device.Topology})
		}
		*devices = changed
		plugin.Update(changed)
	case "remove":
		*devices = slices.DeleteFunc(slices.Clone(*devices), named)
		plugin.Update(*devices)
	case "fail":
		s.mutex.Lock()
		s.allocateError = strings.Join(words[1:], " ")
		s.mutex.Unlock()
	case "hang":
		s.mutex.Lock()
		s.hung = make(chan struct{})
		s.mutex.Unlock()
	case "go":
		s.mutex.Lock()
		close(s.hung)
		s.hung = nil
		s.mutex.Unlock()
	case "register":
		return register()
	default:
		return fmt.Errorf("no command %q", words[0])
	}
	return nil
}

// Each container gets its devices by name, and one node that every machine has.
func (s *behaviour) allocate(request *api.AllocateRequest, _ map[string]*api.Device) (*api.AllocateResponse, error) {
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	fmt.Println(string(line))
	s.mutex.Lock()
	failure, hung := s.allocateError, s.hung
	s.mutex.Unlock()
	if hung != nil {
		<-hung
	}
	if failure != "" {
		return nil, errors.New(failure)
	}
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := slices.Sorted(slices.Values(container.DevicesIds))
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Envs:        map[string]string{"DEVICES": strings.Join(ids, ",")},
			Devices:     []*api.DeviceSpec{{ContainerPath: "/dev/test-device", HostPath: "/dev/null", Permissions: "rw"}},
			Annotations: map[string]string{"example.com/devices": strings.Join(ids, ",")},
		})
	}
	return response, nil
}

func preferLast(request *api.PreferredAllocationRequest, _ map[string]*api.Device) (*api.PreferredAllocationResponse, error) {
	response := &api.PreferredAllocationResponse{}
	for _, container := range request.ContainerRequests {
		ids := slices.Clone(container.MustIncludeDeviceIDs)
		available := slices.Sorted(slices.Values(container.AvailableDeviceIDs))
		for _, id := range slices.Backward(available) {
			if len(ids) < int(container.AllocationSize) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return response, nil
}

func parseDevices(list string) ([]*api.Device, error) {
	devices := []*api.Device{}
	for _, entry := range strings.Split(list, ",") {
		id, node, hasNode := strings.Cut(entry, "@")
		device := &api.Device{ID: id, Health: api.Healthy}
		if hasNode {
			number, err := strconv.ParseInt(node, 10, 64)
			if err != nil {
				return nil, err
			}
			device.Topology = &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: number}}}
		}
		devices = append(devices, device)
	}
	return devices, nil
}
