package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// Makes one call with Kubernetes' own client and prints the answer as JSON.
func readPodResources(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("pod-resources", flag.ExitOnError)
	socket := flags.String("socket", "", "the kubelet's socket of the pod resources API")
	call := flags.String("call", "List", "List, Get or GetAllocatableResources")
	namespace := flags.String("namespace", "", "of the pod that is got")
	name := flags.String("name", "", "of the pod that is got")
	_ = flags.Parse(args)

	client, connection, err := podresources.GetV1Client("unix://"+*socket, 10*time.Second, 16*1024*1024)
	if err != nil {
		return err
	}
	defer connection.Close()
	answer, err := callPodResources(ctx, client, *call, &api.GetPodResourcesRequest{PodNamespace: *namespace, PodName: *name})
	if err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(answer)
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}

func callPodResources(ctx context.Context, client api.PodResourcesListerClient, call string, pod *api.GetPodResourcesRequest) (proto.Message, error) {
	switch call {
	case "List":
		return client.List(ctx, &api.ListPodResourcesRequest{})
	case "Get":
		return client.Get(ctx, pod)
	case "GetAllocatableResources":
		return client.GetAllocatableResources(ctx, &api.AllocatableResourcesRequest{})
	default:
		return nil, fmt.Errorf("no call %q", call)
	}
}
