import { nodeStatusPatch } from "../../core/node/node-patch.ts";
import {
  csiNodeWithDriver,
  csiNodeWithMigration,
  csiNodeWithoutDriver,
  type DriverNodeInfo,
  foreignOwner,
  newCsiNode,
  nodeWithDriver,
  nodeWithoutDriver,
} from "../../core/storage/csi/csi-node-changes.ts";
import { withJitter } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { jsonText, quoteText } from "../../lib/go-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { CSINode, Node } from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

const csiNodes = "/apis/storage.k8s.io/v1/csinodes";
/** Between four tries. */
const retryDelaysMs = [10, 50, 250];
const jitterShare = 0.1;
const timedOut = "timed out waiting for the condition; caused by:";

export interface CsiNodeDeps {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeName: string;
}

/**
 * Keeps what the cluster knows of the node's CSI drivers: the CSINode object, without which the node is not ready, and
 * annotation and labels of the Node object. Each change is made to what the API server has, and tried four times.
 */
export class CsiNode {
  readonly #deps: CsiNodeDeps;
  readonly #path: string;
  readonly #nodePath: string;
  /** One read and its write at a time. */
  readonly #turns = new KeyedTurns();
  /** As each driver was last installed. */
  readonly #installed = new Map<string, DriverNodeInfo>();
  /** Drivers that the objects of a node that was registered again do not have yet. */
  #missing: readonly DriverNodeInfo[] = [];
  #nodeUid = "";
  #isInitialized = false;
  #problem: string | undefined = "CSINode is not yet initialized";

  constructor(deps: CsiNodeDeps) {
    this.#deps = deps;
    const name = encodeURIComponent(deps.nodeName);
    this.#path = `${csiNodes}/${name}`;
    this.#nodePath = `/api/v1/nodes/${name}`;
  }

  /** Why the node is not ready; undefined when all is well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Makes the object there and the node's own. Costs nothing once that is done; returns whether `problem` changed. */
  async ensure(node: Node, signal: AbortSignal): Promise<boolean> {
    const before = this.#problem;
    if (!this.#isInitialized || (node.metadata?.uid ?? "") !== this.#nodeUid) {
      const outcome = await this.initialize(signal);
      if (outcome.ok) this.#missing = [...this.#installed.values()];
      else this.#deps.log.warn("cannot initialize the csi node", { error: outcome.error });
      this.#problem = outcome.ok ? undefined : `failed to initialize CSINode: ${outcome.error}`;
    }
    if (this.#problem === undefined) await this.#installMissing(signal);
    return this.#problem !== before;
  }

  async initialize(signal: AbortSignal): Promise<Result<void, string>> {
    const errors = await this.#retry(() => this.#tryInitialize(signal), signal);
    const last = errors?.at(-1);
    if (last !== undefined) return err(`error updating CSINode annotation: ${timedOut} ${last}`);
    this.#isInitialized = true;
    return ok(undefined);
  }

  /** Records a driver's answer about this node, for the scheduler and for those that attach volumes. */
  async installDriver(info: DriverNodeInfo, signal: AbortSignal): Promise<Result<void, string>> {
    if (info.nodeId === "") {
      return err("error adding CSI driver node info: driverNodeID must not be empty");
    }
    const nodeErrors = await this.#retry(() => this.#tryInstallOnNode(info, signal), signal);
    if (nodeErrors !== undefined) {
      const text = `error updating node: ${timedOut} ${joinedErrors(nodeErrors)}`;
      return err(`error updating Node object with CSI driver node info: ${text}`);
    }
    const updated = await this.updateDriver(info, signal);
    if (updated.ok) this.#installed.set(info.driver, info);
    return updated;
  }

  /** The same for the CSINode object alone. */
  async updateDriver(info: DriverNodeInfo, signal: AbortSignal): Promise<Result<void, string>> {
    const errors = await this.#retry(() => this.#tryInstall(info, signal), signal);
    if (errors === undefined) return ok(undefined);
    const text = `error updating CSINode: ${timedOut} ${joinedErrors(errors)}`;
    return err(`error updating CSINode object with CSI driver node info: ${text}`);
  }

  async uninstallDriver(driver: string, signal: AbortSignal): Promise<Result<void, string>> {
    this.#installed.delete(driver);
    this.#missing = this.#missing.filter((info) => info.driver !== driver);
    const errors = await this.#retry(() => this.#tryUninstall(driver, signal), signal);
    if (errors !== undefined) {
      const text = `error updating CSINode: ${timedOut} ${joinedErrors(errors)}`;
      return err(`error uninstalling CSI driver from CSINode object ${text}`);
    }
    const nodeErrors = await this.#retry(() => this.#tryUninstallOnNode(driver, signal), signal);
    if (nodeErrors === undefined) return ok(undefined);
    const text = `error updating node: ${timedOut} ${joinedErrors(nodeErrors)}`;
    return err(`error removing CSI driver node info from Node object ${text}`);
  }

  /** The node was deleted and registered again: its objects know nothing of drivers that are registered here. */
  async #installMissing(signal: AbortSignal): Promise<void> {
    const missing = this.#missing;
    this.#missing = [];
    for (const info of missing) {
      const outcome = await this.installDriver(info, signal);
      if (outcome.ok) continue;
      this.#missing = [...this.#missing, info];
      const { log } = this.#deps;
      log.warn("cannot report a csi driver", { driver: info.driver, error: outcome.error });
    }
  }

  /** The errors of all tries; undefined = one of them went well. */
  async #retry(
    attempt: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    const { clock, random } = this.#deps;
    const errors: string[] = [];
    for (const delayMs of [...retryDelaysMs, undefined]) {
      try {
        await this.#turns.run("node", attempt);
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        errors.push(errorText(error));
      }
      if (delayMs !== undefined) {
        await clock.sleep(withJitter(delayMs, jitterShare, random()), signal);
      }
    }
    return errors;
  }

  async #tryInitialize(signal: AbortSignal): Promise<void> {
    const node = await this.#readNode(signal);
    this.#nodeUid = node.metadata?.uid ?? "";
    const known = await this.#read(signal);
    if (known === undefined) {
      await this.#create(signal);
      return;
    }
    await this.#requireOwn(known, signal);
    await this.#replace(known, csiNodeWithMigration(known), signal);
  }

  async #tryInstallOnNode(info: DriverNodeInfo, signal: AbortSignal): Promise<void> {
    const node = await this.#readNode(signal);
    const changed = valueOf(nodeWithDriver(node, info));
    if (changed.isChanged) await this.#patchNode(node, changed.node, signal);
  }

  async #tryInstall(info: DriverNodeInfo, signal: AbortSignal): Promise<void> {
    const known = (await this.#read(signal)) ?? (await this.#create(signal));
    await this.#requireOwn(known, signal);
    await this.#replace(known, csiNodeWithDriver(known, info), signal);
  }

  async #tryUninstall(driver: string, signal: AbortSignal): Promise<void> {
    const known = await this.#read(signal);
    if (known !== undefined)
      await this.#replace(known, csiNodeWithoutDriver(known, driver), signal);
  }

  async #tryUninstallOnNode(driver: string, signal: AbortSignal): Promise<void> {
    const node = await this.#readNode(signal);
    const changed = valueOf(nodeWithoutDriver(node, driver));
    if (changed !== node) await this.#patchNode(node, changed, signal);
  }

  /** One of a former node of this name is deleted, and the next try makes a new one. */
  async #requireOwn(csiNode: CSINode, signal: AbortSignal): Promise<void> {
    const { api, nodeName } = this.#deps;
    const owner = foreignOwner(csiNode, nodeName, this.#nodeUid);
    if (owner === undefined) return;
    const name = quoteText(csiNode.metadata?.name ?? "");
    try {
      await api.send({ method: "DELETE", path: this.#path }, signal);
    } catch (error) {
      const text = `error deleting existing CSINode ${name}: ${errorText(error)}`;
      throw new Error(text, { cause: error });
    }
    const ids = `oldNodeID=${quoteText(owner)}, newNodeID=${quoteText(this.#nodeUid)}`;
    throw new Error(`CSINode ${name} was owned by different node (${ids}), deleted it`);
  }

  async #create(signal: AbortSignal): Promise<CSINode> {
    const body = newCsiNode(this.#deps.nodeName, this.#nodeUid);
    return await this.#deps.api.send<CSINode>({ method: "POST", path: csiNodes, body }, signal);
  }

  async #replace(before: CSINode, body: CSINode, signal: AbortSignal): Promise<void> {
    if (body !== before)
      await this.#deps.api.send({ method: "PUT", path: this.#path, body }, signal);
  }

  async #read(signal: AbortSignal): Promise<CSINode | undefined> {
    try {
      return await this.#deps.api.send<CSINode>({ method: "GET", path: this.#path }, signal);
    } catch (error) {
      if (isApiStatus(error, 404)) return undefined;
      throw error;
    }
  }

  async #readNode(signal: AbortSignal): Promise<Node> {
    return await this.#deps.api.send<Node>({ method: "GET", path: this.#nodePath }, signal);
  }

  async #patchNode(before: Node, after: Node, signal: AbortSignal): Promise<void> {
    const body = nodeStatusPatch(before, after);
    const path = `${this.#nodePath}/status`;
    try {
      await this.#deps.api.send({ method: "PATCH", path, body, patchType: "strategic" }, signal);
    } catch (error) {
      const [patch, name] = [jsonText(sortedKeys(body)), this.#deps.nodeName].map(quoteText);
      const text = `failed to patch status ${patch} for node ${name}: ${errorText(error)}`;
      throw new Error(text, { cause: error });
    }
  }
}

function valueOf<T>(result: Result<T, string>): T {
  if (result.ok) return result.value;
  throw new Error(result.error);
}

/** As Go writes maps. */
function sortedKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, sortedKeys(field)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
