import {
  initialNode,
  type NodeRegistrationSettings,
  reconcileNode,
} from "../../../src/core/node/node-registration.ts";
import type { Node, NodeStatus, Taint } from "../../../src/model/generated/kubernetes.ts";
import { withoutNulls } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input
  extends Omit<NodeRegistrationSettings, "providerId" | "architecture" | "registerWithTaints"> {
  readonly providerID: string;
  readonly registerWithTaints: readonly Taint[] | null;
  readonly existingNode: Node;
  readonly status: NodeStatus;
  readonly resetExtendedResources: boolean;
}

export const nodeRegistrationDomain: VectorDomain = vectorDomain<Input>(
  "node-registration",
  (input) => {
    const {
      apiVersion: _,
      kind: __,
      ...initial
    } = initialNode({
      ...input,
      registerWithTaints: input.registerWithTaints ?? [],
      providerId: input.providerID,
      architecture: "amd64",
    });
    const { node, requiresUpdate } = reconcileNode(
      { ...initial, status: withoutNulls(input.status) },
      withoutNulls(input.existingNode),
      input.resetExtendedResources,
    );
    return {
      // The vectors show the status of a node that has none as the API writes it.
      initialNode: { ...initial, status: emptyStatus },
      reconciledNode: node,
      requiresUpdate,
    };
  },
);

const emptyStatus = {
  daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
  nodeInfo: {
    machineID: "",
    systemUUID: "",
    bootID: "",
    kernelVersion: "",
    osImage: "",
    containerRuntimeVersion: "",
    kubeletVersion: "",
    kubeProxyVersion: "",
    operatingSystem: "",
    architecture: "",
  },
};
