package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc"
	resource "k8s.io/api/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/kubernetes/test/e2e/dra/test-driver/app"
)

// How a driver answers calls of a method, until that is changed.
type answers struct {
	mutex  sync.Mutex
	errors map[string]string
	hung   map[string]chan struct{}
}

// Serves the DRA driver of Kubernetes' own tests and registers it with the kubelet of the folder. Reads commands, one a line:
//
//	health DEVICE STATE TEXT  reports the device with this health
//	fail METHOD TEXT          answers calls of the method with an error; without a text no more
//	hang METHOD               does not answer calls of the method until "go METHOD"
//
// Prints a line of JSON when a call of a method begins and when it has ended, and "ready" when it serves.
func runDra(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dra", flag.ExitOnError)
	folder := flags.String("folder", "", "the kubelet's root folder")
	name := flags.String("driver", "dra.example.com", "name of the driver")
	node := flags.String("node", "", "name of the node")
	kubeconfig := flags.String("kubeconfig", "", "of the cluster's API server")
	cdi := flags.String("cdi", "/var/run/cdi", "folder for CDI specs")
	count := flags.Int("devices", 4, "how many devices the node has: device-00 and on")
	instance := flags.String("instance", "", "in the names of the sockets: two instances of a driver may run at once")
	v1 := flags.Bool("v1", true, "serves the API v1")
	v1beta1 := flags.Bool("v1beta1", true, "serves the API v1beta1")
	_ = flags.Parse(args)

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	data := filepath.Join(*folder, "plugins", *name)
	registry := filepath.Join(*folder, "plugins_registry")
	for _, path := range []string{data, registry, *cdi} {
		if err := os.MkdirAll(path, 0o750); err != nil {
			return err
		}
	}
	state := &answers{errors: map[string]string{}, hung: map[string]chan struct{}{}}
	plugin, err := app.StartPlugin(ctx, *cdi, *name, client, *node,
		app.FileOperations{DriverResources: devicesOf(*node, *count)},
		app.Options{EnableHealthService: true},
		kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.PluginSocket("dra"+*instance+".sock"),
		kubeletplugin.RegistrarDirectoryPath(registry),
		kubeletplugin.RegistrarSocketFilename(*name+*instance+"-reg.sock"),
		kubeletplugin.NodeV1(*v1),
		kubeletplugin.NodeV1beta1(*v1beta1),
		kubeletplugin.GRPCInterceptor(state.intercept),
	)
	if err != nil {
		return err
	}
	defer plugin.Stop()
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
			return nil
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if err := state.command(line, *node, plugin); err != nil {
				return err
			}
		}
	}
}

func devicesOf(pool string, count int) *resourceslice.DriverResources {
	devices := make([]resource.Device, count)
	for index := range devices {
		devices[index].Name = fmt.Sprintf("device-%02d", index)
	}
	slices := []resourceslice.Slice{{Devices: devices}}
	return &resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{pool: {Slices: slices}}}
}

func (a *answers) command(line, pool string, plugin *app.ExamplePlugin) error {
	words := strings.SplitN(line, " ", 4)
	if len(words) < 2 {
		return fmt.Errorf("no command %q", line)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch words[0] {
	case "health":
		if len(words) < 4 {
			return fmt.Errorf("no device, state and text in %q", line)
		}
		update := app.DeviceHealthUpdate{PoolName: pool, DeviceName: words[1], Health: words[2], Message: words[3]}
		plugin.HealthControlChan <- update
	case "fail":
		a.errors[words[1]] = strings.Join(words[2:], " ")
	case "hang":
		a.hung[words[1]] = make(chan struct{})
	case "go":
		close(a.hung[words[1]])
		delete(a.hung, words[1])
	default:
		return fmt.Errorf("no command %q", line)
	}
	return nil
}

// The claims of requests of both versions of the API.
type claimsRequest struct {
	Claims []struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       string `json:"uid"`
	} `json:"claims"`
}

func (a *answers) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	service, method := path.Split(info.FullMethod)
	if !strings.Contains(service, "DRAPlugin") {
		return handle(ctx, request)
	}
	claims, err := claimsOf(request)
	if err != nil {
		return nil, err
	}
	note := func(state, failure string) {
		line, _ := json.Marshal(map[string]any{
			"service": strings.Trim(service, "/"), "method": method, "claims": claims, "state": state, "error": failure,
		})
		fmt.Println(string(line))
	}
	note("begun", "")
	a.mutex.Lock()
	failure, hung := a.errors[method], a.hung[method]
	a.mutex.Unlock()
	if hung != nil {
		<-hung
	}
	var response any
	if failure != "" {
		err = errors.New(failure)
	} else {
		response, err = handle(ctx, request)
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	note("ended", text)
	return response, err
}

func claimsOf(request any) (any, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	found := claimsRequest{}
	err = json.Unmarshal(text, &found)
	return found.Claims, err
}
