package main

import (
	"context"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// What failed is tried again after this.
const retryPeriod = time.Second

// Each of its calls of the driver takes no longer: one that hangs does not stop the others for good.
const callTimeout = 15 * time.Second

// The part of a driver that is usually the sidecars external-attacher, -provisioner and -resizer: it brings what the
// cluster wants to the driver's controller service, through its socket, so that rules and the record of calls hold for it, too.
type sidecars struct {
	settings    settings
	client      kubernetes.Interface
	driver      csi.ControllerClient
	factory     informers.SharedInformerFactory
	attachments storagelisters.VolumeAttachmentLister
	nodes       storagelisters.CSINodeLister
	classes     storagelisters.StorageClassLister
	volumes     corelisters.PersistentVolumeLister
	claims      corelisters.PersistentVolumeClaimLister
	changed     chan struct{}
}

func newSidecars(s settings) (*sidecars, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("unix://"+s.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	made := &sidecars{
		settings:    s,
		client:      client,
		driver:      csi.NewControllerClient(connection),
		factory:     factory,
		attachments: factory.Storage().V1().VolumeAttachments().Lister(),
		nodes:       factory.Storage().V1().CSINodes().Lister(),
		classes:     factory.Storage().V1().StorageClasses().Lister(),
		volumes:     factory.Core().V1().PersistentVolumes().Lister(),
		claims:      factory.Core().V1().PersistentVolumeClaims().Lister(),
		changed:     make(chan struct{}, 1),
	}
	notify := func() {
		select {
		case made.changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Storage().V1().VolumeAttachments().Informer(),
		factory.Storage().V1().CSINodes().Informer(),
		factory.Storage().V1().StorageClasses().Informer(),
		factory.Core().V1().PersistentVolumes().Informer(),
		factory.Core().V1().PersistentVolumeClaims().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (s *sidecars) run(ctx context.Context) {
	s.factory.Start(ctx.Done())
	s.factory.WaitForCacheSync(ctx.Done())
	for ctx.Err() == nil {
		for _, err := range append(append(s.attachAll(ctx), s.provisionAll(ctx)...), s.expandAll(ctx)...) {
			klog.ErrorS(err, "tried again soon")
		}
		select {
		case <-ctx.Done():
		case <-s.changed:
		case <-time.After(retryPeriod):
		}
	}
}

// Applies a step to each of a list; one that fails does not keep the others from it.
func each[T any](list []T, listErr error, step func(T) error) []error {
	if listErr != nil {
		return []error{listErr}
	}
	var failed []error
	for _, item := range list {
		if err := step(item); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

func messageOf(err error) string {
	known := status.Convert(err)
	return fmt.Sprintf("rpc error: code = %s desc = %s", known.Code(), known.Message())
}
