import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { dataLayout } from "../app/data-layout.ts";
import { defaultNodeName } from "../app/node-facts.ts";
import type { NodeOrder } from "../app/node-order.ts";
import { NodeProcess, type NodeProcessOptions } from "../app/node-process.ts";
import { nodeProgram } from "../app/program-parts.ts";
import { scriptProblems } from "../app/script-problems.ts";
import { makeTemporaryDataDir } from "../app/temporary-data-dir.ts";
import { AgentClient } from "../cli/agent-client.ts";
import { errorText } from "../lib/error-text.ts";
import type { BerthNode, Decision, NodePod } from "./api.ts";
import { BerthError } from "./berth-error.ts";
import { asked, libraryError } from "./client-errors.ts";
import { readManifests } from "./manifest.ts";
import { NodeManifests } from "./node-manifests.ts";
import { type NodeOptions, requireNodeOptions } from "./node-options.ts";
import { nodeNameEnd, nodePod, ownName } from "./node-pod.ts";
import { waitForPod } from "./wait-for-pod.ts";

const simulatedNodeName = "sim";
const never = new AbortController().signal;

/** Starts a node; resolves when it takes pods. */
export function createNode(options: NodeOptions): Promise<BerthNode> {
  return createNodeBy(nodeProgram, options);
}

/** The same with another program for the process of the node. */
export async function createNodeBy(program: string, options: NodeOptions): Promise<BerthNode> {
  requireNodeOptions(options);
  options.signal?.throwIfAborted();
  const order = await orderOf(options);
  const node = new OwnNode({ program, order });
  try {
    await node.start(options);
  } catch (error) {
    throw libraryError(error, options.signal);
  }
  return node;
}

async function orderOf(options: NodeOptions): Promise<NodeOrder> {
  const { kind, logLevel = "warn" } = options;
  const named = kind === "real" ? options.dataDir : undefined;
  if (named === "") throw new BerthError("invalid-options", "dataDir: it is empty");
  const isTemporary = named === undefined;
  const dataDir = await (named === undefined
    ? makeTemporaryDataDir("berth-node-")
    : makeNamedDataDir(resolve(named))
  ).catch((error: unknown) => {
    throw new BerthError("start-failed", errorText(error), { cause: error });
  });
  const { manifests } = dataLayout(dataDir);
  if (options.kind === "simulated") {
    const { nodeName = simulatedNodeName, speed = 1 } = options;
    return {
      node: { kind: "simulated", dataDir, manifests, nodeName, speed },
      isTemporary,
      logLevel,
    };
  }
  const { nodeName = defaultNodeName(), runtimeEndpoint, bridge, subnet, cgroupRoot } = options;
  const place = { kind: "real", dataDir, manifests, nodeName } as const;
  const node = { ...place, runtimeEndpoint, bridge, subnet, cgroupRoot };
  return { node, isTemporary, logLevel };
}

async function makeNamedDataDir(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await mkdir(dataLayout(dataDir).manifests, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(`dataDir: cannot be used: ${errorText(error)}`, { cause: error });
  }
  return dataDir;
}

class OwnNode implements BerthNode {
  readonly #process: NodeProcess;
  readonly #client: AgentClient;
  readonly #manifests: NodeManifests;
  readonly kind: NodeOptions["kind"];
  readonly name: string;
  readonly dataDir: string;
  readonly ended: Promise<string | undefined>;

  constructor(deps: NodeProcessOptions) {
    const { node } = deps.order;
    this.kind = node.kind;
    this.name = node.nodeName ?? defaultNodeName();
    this.dataDir = node.dataDir;
    this.#process = new NodeProcess(deps);
    this.ended = this.#process.ended;
    this.#client = new AgentClient(dataLayout(node.dataDir).socket, "createNode");
    this.#manifests = new NodeManifests({
      folder: node.manifests,
      nodeName: this.name,
      client: this.#client,
      problemsOf: node.kind === "simulated" ? scriptProblems : () => [],
    });
  }

  async start({ signal, onLog }: Pick<NodeOptions, "signal" | "onLog">): Promise<void> {
    if (onLog !== undefined) this.#process.followLog(onLog);
    const giveUp = (): void => void this.stop().catch(() => undefined);
    signal?.addEventListener("abort", giveUp, { once: true });
    // It may have been aborted while its folder was made.
    if (signal?.aborted === true) giveUp();
    try {
      await this.#process.untilReady();
      signal?.throwIfAborted();
    } catch (error) {
      // What was wrong at the start is what counts.
      await this.stop().catch(() => undefined);
      throw new BerthError("start-failed", error instanceof Error ? error.message : String(error));
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  apply: BerthNode["apply"] = (manifests, { signal } = {}) =>
    asked(async () => {
      const objects = this.#manifests.read(await readManifests(manifests));
      const pods = await this.#manifests.apply(objects, signal ?? never);
      const { length } = nodeNameEnd(this.name);
      return pods.map(({ metadata: { namespace, name } }) =>
        this.#podOf(namespace, name.slice(0, -length)),
      );
    }, signal);

  delete: BerthNode["delete"] = (manifests, options = {}) =>
    asked(async () => {
      const objects = this.#manifests.read(await readManifests(manifests));
      await this.#manifests.remove(objects);
      const pods = objects.flatMap(({ isPod, fileName }) => (isPod ? podOfName(fileName) : []));
      const gone = pods.map(({ namespace, name }) => {
        const place = { client: this.#client, namespace, name: ownName(name, this.name) };
        return waitForPod(place, "gone", options);
      });
      await Promise.all(gone);
    }, options.signal);

  pod: BerthNode["pod"] = (name, { namespace = "default" } = {}) => this.#podOf(namespace, name);

  pods: BerthNode["pods"] = ({ namespace, labelSelector, signal } = {}) =>
    asked(
      async () =>
        (await this.#client.listPods(namespace, { labelSelector }, signal ?? never)).items,
      signal,
    );

  watchDecisions: BerthNode["watchDecisions"] = ({ pod, signal } = {}) =>
    asked(async () => {
      const uid = pod === undefined ? undefined : (await pod.read()).metadata.uid;
      const left = new AbortController();
      const lifetime = AbortSignal.any([left.signal, ...(signal === undefined ? [] : [signal])]);
      let onOpen = (): void => undefined;
      const opened = new Promise<void>((done) => {
        onOpen = done;
      });
      const records = this.#client.watchSyncs(uid, () => onOpen(), lifetime);
      const first = records.next();
      await Promise.race([opened, first]);
      return decisionsOf(first, records, { left, signal });
    }, signal);

  stop: BerthNode["stop"] = ({ remove = false } = {}) => asked(() => this.#process.stop(remove));

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #podOf(namespace: string, name: string): NodePod {
    const deps = {
      client: this.#client,
      isSimulated: this.kind === "simulated",
      nodeName: this.name,
      remove: (space: string, pod: string) => this.#manifests.removePod(space, pod),
    };
    return nodePod(deps, namespace, name);
  }
}

function podOfName(fileName: string): readonly { namespace: string; name: string }[] {
  const [, namespace = "", name = ""] = fileName.replace(/\.json$/, "").split("_");
  return [{ namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) }];
}

interface DecisionLook {
  readonly left: AbortController;
  readonly signal: AbortSignal | undefined;
}

async function* decisionsOf(
  first: Promise<IteratorResult<Decision>>,
  records: AsyncGenerator<Decision>,
  { left, signal }: DecisionLook,
): AsyncGenerator<Decision> {
  try {
    for (let next = await first; next.done !== true; next = await records.next()) yield next.value;
  } catch (error) {
    throw libraryError(error, signal);
  } finally {
    left.abort();
  }
}
