// A CSI driver for tests, foreign to the agent that they are about: the mock of Kubernetes' own storage tests, with
// volumes that are really mounted. Volumes are files in a folder, attached as loop devices and formatted on demand; all that
// it knows of them is on disk, so that it can be killed and started again. It fails, hangs and dies as tests ask.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	mock "k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

type settings struct {
	mock.Config
	nodeID                 string
	dataFolder             string
	endpoint               string
	registrationSocket     string
	controlSocket          string
	rules                  string
	kubeconfig             string
	withoutStaging         bool
	singleNodeMultiWriter  bool
	withoutNodeVolumeStats bool
}

func parseFlags() settings {
	var s settings
	attach := true
	controllerExpansion, onlineExpansion := true, true
	flag.StringVar(&s.DriverName, "name", "", "the driver's name")
	flag.StringVar(&s.nodeID, "node-id", "", "what NodeGetInfo answers as this node's id")
	flag.StringVar(&s.dataFolder, "data", "", "folder of the volumes, and of calls.jsonl: every call that was made")
	flag.StringVar(&s.endpoint, "endpoint", "", "socket of the driver")
	flag.StringVar(&s.registrationSocket, "registration", "", "socket in a kubelet's plugins_registry; not registered without")
	flag.StringVar(&s.controlSocket, "control", "", "socket for tests: HTTP, see control.go")
	flag.StringVar(&s.rules, "rules", "[]", "the rules that it starts with, as PUT /rules of the control socket takes them")
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "of a cluster in which it also attaches, provisions and expands; none without")
	flag.BoolVar(&attach, "attach", attach, "volumes have to be attached (ControllerPublishVolume) before they are staged")
	flag.Int64Var(&s.AttachLimit, "attach-limit", 0, "how many volumes a node can have; 0: any number")
	flag.BoolVar(&s.NodeExpansionRequired, "node-expansion", true, "NodeExpandVolume is served, and needed after ControllerExpandVolume")
	flag.BoolVar(&controllerExpansion, "controller-expansion", controllerExpansion, "ControllerExpandVolume is served")
	flag.BoolVar(&onlineExpansion, "online-expansion", onlineExpansion, "volumes can be expanded while they are attached")
	flag.BoolVar(&s.NodeVolumeConditionRequired, "volume-condition", false, "NodeGetVolumeStats answers a condition")
	flag.BoolVar(&s.VolumeMountGroupRequired, "volume-mount-group", false, "the driver itself gives volumes to the group of a pod")
	flag.BoolVar(&s.EnableTopology, "topology", false, "volumes can be used by the node only on which they were made")
	flag.BoolVar(&s.withoutStaging, "without-staging", false, "no STAGE_UNSTAGE_VOLUME: volumes are mounted when they are published")
	flag.BoolVar(&s.withoutNodeVolumeStats, "without-stats", false, "no GET_VOLUME_STATS")
	flag.BoolVar(&s.singleNodeMultiWriter, "single-node-multi-writer", false, "the access modes SINGLE_NODE_SINGLE_WRITER and SINGLE_NODE_MULTI_WRITER")
	flag.Parse()
	s.DisableAttach = !attach
	s.DisableControllerExpansion = !controllerExpansion
	s.DisableOnlineExpansion = !onlineExpansion
	for name, value := range map[string]string{"name": s.DriverName, "node-id": s.nodeID, "data": s.dataFolder, "endpoint": s.endpoint, "control": s.controlSocket} {
		if value == "" {
			fail(fmt.Errorf("--%s is missing", name))
		}
	}
	return s
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "csi-driver:", err)
	os.Exit(1)
}

func must[T any](value T, err error) T {
	if err != nil {
		fail(err)
	}
	return value
}

// Makes a socket where one of a killed driver may still be.
func listen(path string) net.Listener {
	must(0, os.MkdirAll(filepath.Dir(path), 0o750))
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		fail(err)
	}
	return must(net.Listen("unix", path))
}

func main() {
	klog.InitFlags(nil)
	s := parseFlags()
	volumes := must(openVolumes(s.dataFolder))
	calls := must(openCalls(filepath.Join(s.dataFolder, "calls.jsonl")))
	control := newControl(volumes, calls, must(parseRules(strings.NewReader(s.rules))))

	service := &service{Service: mock.New(s.Config), settings: s, volumes: volumes}
	csiDriver := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: service, Identity: service, Node: service})
	must(0, csiDriver.Start(listen(s.endpoint), control.intercept))
	controlListener := listen(s.controlSocket)
	go func() { must(0, control.serve(controlListener)) }()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if s.kubeconfig != "" {
		go must(newSidecars(s)).run(ctx)
	}
	if s.registrationSocket != "" {
		server := grpc.NewServer(grpc.UnaryInterceptor(control.intercept))
		registration.RegisterRegistrationServer(server, &registrar{settings: s})
		listener := listen(s.registrationSocket)
		go func() { must(0, server.Serve(listener)) }()
		// The socket goes with the server: a kubelet then forgets the driver.
		defer server.Stop()
	}
	fmt.Println("ready", os.Getpid())
	<-ctx.Done()
}
