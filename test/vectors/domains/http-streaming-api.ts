import type { Pod } from "../../../src/model/pod.ts";
import {
  type ContainerCall,
  type ContainerEndpoint,
  readContainerCall,
} from "../../../src/server/kubelet/container-call.ts";
import { endpointTable, findEndpoint } from "../../../src/server/kubelet/endpoints.ts";
import { parseQuery } from "../../../src/server/kubelet/request-target.ts";
import { buildPod } from "../../kit/pods.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const table = endpointTable({
  healthChecks: [],
  debugging: true,
  systemLogs: "files",
  profiling: true,
  debugFlags: true,
  checkpoint: true,
  flagz: true,
  statusz: true,
});
const pod: Pod = buildPod({
  metadata: { namespace: "ns", name: "pod1", uid: "uid-1" },
  spec: {
    containers: [{ name: "c0" }],
    initContainers: [{ name: "i0" }],
    ephemeralContainers: [{ name: "e0" }],
  },
});
function namedPod({ podNamespace, podID }: Readonly<Record<string, string>>): Pod | undefined {
  return podNamespace === "ns" && podID === "pod1" ? pod : undefined;
}

export const httpStreamingApi: VectorDomain = vectorDomain<Input>(
  "http-streaming-api",
  ({ method, target, headers = {} }) => {
    const lookup = findEndpoint(table, method, target, headers["Accept"]);
    if (lookup.kind === "unparsable") return { status: 400 };
    if (lookup.kind === "open") {
      if (lookup.match.kind === "redirect") return { status: 307, location: lookup.match.location };
      return { status: 404, body: "404 page not found\n" };
    }
    const { answer } = lookup;
    if (answer.kind === "refuse") {
      return { status: answer.status, body: answer.body, allow: answer.allow };
    }
    const call = readContainerCall(
      {
        endpoint: answer.endpoint as ContainerEndpoint,
        parameters: answer.parameters,
        query: parseQuery(lookup.target.rawQuery),
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
        ),
      },
      { pod: namedPod(answer.parameters), splitsLogStreams: false },
    );
    if (!call.ok) return call.error;
    return { call: shown(call.value, answer.parameters["uid"] ?? "") };
  },
);

function shown(call: ContainerCall, uid: string): unknown {
  const { name, namespace } = pod.metadata;
  if (call.kind === "port-forward") {
    return { call: "portForward", name, namespace, uid: "uid-1", ports: call.ports };
  }
  const { container } = call;
  const asked = { container, pod: `${name}_${namespace}` };
  switch (call.kind) {
    case "logs": {
      // A flag that is not set is absent, and so is a time that says nothing.
      const options = Object.fromEntries(
        Object.entries(call.options).map(([name, value]) => [name, value === false ? null : value]),
      );
      options["sinceTime"] ||= null;
      return { call: "logs", ...asked, options, stdout: true, stderr: true };
    }
    case "run":
      return { call: "run", ...asked, uid, command: call.command };
    case "exec":
      return { call: "exec", ...asked, uid, command: call.command, options: call.options };
    case "attach":
      return { call: "attach", ...asked, uid, options: call.options };
  }
}
