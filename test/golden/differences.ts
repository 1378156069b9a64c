import { httpDifferences } from "./http-differences.ts";

/** A known difference from the recorded kubelet, and why it is right. */
export interface ExplainedDifference {
  readonly scenario: string;
  /** The pod's name, "" for the whole namespace, or "*" for all; of `http` the recorded answer. */
  readonly pod: string;
  /** The path of the difference; "*" stands for any text. */
  readonly path: string;
  readonly because: string;
  /** Whether it is seen depends on the moment. */
  readonly isRare?: true;
}

const CRASH_LOOP =
  "Berth knows a crash loop again after a restart; the kubelet begins with the shortest delay, and comes to this attempt sooner.";
const BACK_OFF =
  "Berth says at once that a container waits for its next start; the recorded kubelet says so with its next sync of the pod.";
const IMAGE_NAME =
  "The image is pulled from a registry of the test, and the hash is that of its name.";
const ENDING_HOOK =
  "A pod that ends does not wait for its postStart hook: Berth gives the hook up; the kubelet let the pod run until it was done.";
const HOW_FAR =
  "How far a pod comes before it is deleted depends on the moment: the recorded kubelet had not begun its sandbox.";

/** Every difference between what Berth does and the recordings that is meant to be. */
export const explainedDifferences: readonly ExplainedDifference[] = [
  {
    scenario: "prestop-overrun",
    pod: "p",
    path: "StopContainer <container c 0>: *",
    because: "On a busy machine the runtime takes seconds to let go of the hook that has overrun.",
    isRare: true,
  },
  {
    scenario: "image-pull-always",
    pod: "p",
    path: "CreateContainer c attempt 0: request.config.annotations.io.kubernetes.container.hash",
    because: IMAGE_NAME,
  },
  {
    scenario: "image-pull-secret",
    pod: "p",
    path: "CreateContainer c attempt 0: request.config.annotations.io.kubernetes.container.hash",
    because: IMAGE_NAME,
  },
  {
    scenario: "image-volume",
    pod: "*",
    path: "*",
    because:
      "Berth refuses the pod and says why: this runtime cannot mount images. The kubelet tried to create the container again and again.",
  },
  {
    scenario: "static-pod",
    pod: "st-conf-node",
    path: "deletions[2].preconditions.uid",
    because: "Berth deletes the mirror pod that it has seen, never another one of that name.",
  },
  {
    scenario: "onfailure-crashloop",
    pod: "p",
    path: "*containerStatuses.c*",
    because: BACK_OFF,
  },
  {
    scenario: "init-fail-always",
    pod: "p",
    path: "*initContainerStatuses.i1*",
    because: BACK_OFF,
  },
  {
    scenario: "image-missing",
    pod: "p",
    path: "before deletion.containerStatuses.c.state.waiting.*",
    because:
      "A pull that fails is reported as ErrImagePull, and as ImagePullBackOff until the next.",
    isRare: true,
  },
  {
    scenario: "sidecar-restart",
    pod: "p",
    path: "*initContainerStatuses.sc*",
    because: BACK_OFF,
  },
  {
    scenario: "badcommand",
    pod: "q",
    path: "*containerStatuses.c*",
    because: BACK_OFF,
  },
  {
    scenario: "kubelet-restart",
    pod: "crash",
    path: "*",
    because: CRASH_LOOP,
  },
  {
    scenario: "kubelet-restart",
    pod: "done",
    path: "status.podIP*",
    because:
      "A new agent cannot know which address an ended pod had; the API server keeps it until the pod's status changes.",
    isRare: true,
  },
  {
    scenario: "kubelet-restart",
    pod: "",
    path: "api.token * for terminating []",
    because: "A pod that is ending needs no new token.",
  },
  {
    scenario: "deleted-while-starting",
    pod: "inhook",
    path: "ExecSync <container c 0>: outcome",
    because: ENDING_HOOK,
  },
  {
    scenario: "deleted-while-starting",
    pod: "",
    path: "api.token * for early []",
    because: "A pod that is deleted before its volumes are made needs no token.",
    isRare: true,
  },
  {
    scenario: "deleted-while-starting",
    pod: "early",
    path: "RunPodSandbox attempt 0",
    because: HOW_FAR,
    isRare: true,
  },
  {
    scenario: "deleted-while-starting",
    pod: "early",
    path: "StopPodSandbox <sandbox 0>",
    because: HOW_FAR,
    isRare: true,
  },
  {
    scenario: "deleted-while-starting",
    pod: "early",
    path: "RemovePodSandbox <sandbox 0>",
    because: HOW_FAR,
    isRare: true,
  },
  {
    scenario: "deleted-while-starting",
    pod: "early",
    path: "status.podIP*",
    because: HOW_FAR,
    isRare: true,
  },
  {
    scenario: "node-registration",
    pod: "",
    path: "node.POST /api/v1/nodes.body.status.conditions[3].message",
    because: "What a node still waits for when it registers depends on the moment.",
    isRare: true,
  },
  {
    scenario: "node-registration",
    pod: "",
    path: "node.GET /api/v1/nodes/conf-node.query.timeout",
    because: "Berth never waits longer for an answer about its node.",
  },
  {
    scenario: "node-registration",
    pod: "",
    path: "node.GET /apis/storage.k8s.io/v1/csinodes/conf-node.query.resourceVersion",
    because: "Berth asks for what is there now, the kubelet first for what a cache has.",
  },
  {
    scenario: "node-registration",
    pod: "",
    path: "node.DELETE /apis/resource.k8s.io/v1/resourceslices.body",
    because: "Berth sends no options where they are the defaults.",
  },
  ...httpDifferences,
];
