// What a request about one pod's containers asks the agent to do.
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { findContainer, type Pod } from "../../model/pod.ts";
import {
  type LogOptions,
  parseForwardedPorts,
  parseLogOptions,
  parseStreamOptions,
  type QueryValues,
  type Refusal,
  type StreamOptions,
} from "./stream-options.ts";

export type ContainerEndpoint = "attach" | "container-logs" | "exec" | "port-forward" | "run";

export interface ContainerRequest {
  readonly endpoint: ContainerEndpoint;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: QueryValues;
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export type ContainerCall =
  | {
      readonly kind: "logs";
      readonly pod: Pod;
      readonly container: string;
      readonly options: LogOptions;
    }
  | {
      readonly kind: "exec";
      readonly pod: Pod;
      readonly container: string;
      readonly command: readonly string[];
      readonly options: StreamOptions;
    }
  | {
      readonly kind: "attach";
      readonly pod: Pod;
      readonly container: string;
      readonly options: StreamOptions;
    }
  | {
      readonly kind: "run";
      readonly pod: Pod;
      readonly container: string;
      readonly command: readonly string[];
    }
  | { readonly kind: "port-forward"; readonly pod: Pod; readonly ports: readonly number[] };

interface FoundPod {
  /** The pod that the request names, where there is one. */
  readonly pod: Pod | undefined;
  /** The PodLogsQuerySplitStreams feature. */
  readonly splitsLogStreams: boolean;
}

/** Reads a request, in the order in which the kubelet finds fault. */
export function readContainerCall(
  request: ContainerRequest,
  pods: FoundPod,
): Result<ContainerCall, Refusal> {
  const { endpoint, query, parameters } = request;
  const { containerName: container = "" } = parameters;
  const { pod: found } = pods;
  const noPod = err({ status: 404, body: "pod does not exist" });
  switch (endpoint) {
    case "container-logs":
      return readLogCall(request, pods);
    case "run": {
      if (found === undefined) return noPod;
      const command = (query.get("cmd")?.[0] ?? "").split(" ");
      return ok({ kind: "run", pod: found, container, command });
    }
    case "exec":
    case "attach": {
      const options = parseStreamOptions(query);
      if (!options.ok) return options;
      if (found === undefined) return noPod;
      const asked = { pod: found, container, options: options.value };
      if (endpoint === "attach") return ok({ kind: "attach", ...asked });
      return ok({ kind: "exec", ...asked, command: query.get("command") ?? [] });
    }
    case "port-forward": {
      const ports = namesPorts(request) ? parseForwardedPorts(query) : ok([]);
      if (!ports.ok) return ports;
      if (found === undefined) return noPod;
      const { uid = "" } = parameters;
      if (uid !== "" && uid !== found.metadata.uid) {
        return err({ status: 404, body: "pod not found" });
      }
      return ok({ kind: "port-forward", pod: found, ports: ports.value });
    }
  }
}

function readLogCall(
  { query, parameters }: ContainerRequest,
  { pod, splitsLogStreams }: FoundPod,
): Result<ContainerCall, Refusal> {
  const { podID = "", containerName: container = "" } = parameters;
  const options = parseLogOptions(query);
  if (!options.ok) return options;
  if (pod === undefined) {
    return err({ status: 404, body: `pod ${quoteText(podID)} does not exist` });
  }
  if (findContainer(pod, container) === undefined) {
    const body = `container ${quoteText(container)} not found in pod ${quoteText(podID)}`;
    return err({ status: 404, body });
  }
  const { stream = "All" } = options.value;
  if (stream !== "All" && !splitsLogStreams) {
    const body = `unable to return the given log stream: ${quoteText(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`;
    return err({ status: 400, body });
  }
  return ok({ kind: "logs", pod, container, options: options.value });
}

/** A WebSocket without the tunneling protocol says in its query which ports it wants. */
function namesPorts({ headers }: ContainerRequest): boolean {
  return isWebSocket(headers) && !protocols(headers).some((each) => tunneling.test(each));
}

const tunneling = /^SPDY\/3\.1\+.*\.k8s\.io$/;

/** Whether a request asks for a WebSocket. */
export function isWebSocket(headers: ContainerRequest["headers"]): boolean {
  return isUpgrade(headers) && joined(headers["upgrade"]).toLowerCase() === "websocket";
}

/** Whether a request asks for another protocol. */
export function isUpgrade(headers: ContainerRequest["headers"]): boolean {
  return joined(headers["connection"]).toLowerCase().includes("upgrade");
}

function protocols(headers: ContainerRequest["headers"]): readonly string[] {
  return joined(headers["sec-websocket-protocol"])
    .split(",")
    .map((protocol) => protocol.trim());
}

function joined(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : (value ?? []).join(",");
}
