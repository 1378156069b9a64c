// Names that pods bring along, in probes and hooks. They are not given to getaddrinfo: that has two threads for the whole
// process, and a name server that does not answer would keep the agent from the API server and the registry. See ADR 17.

import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { hostname } from "node:os";
import { Semaphore } from "../../lib/semaphore.ts";
import { startTimer } from "../../lib/timers.ts";
import { noLongerNeeded, withEither } from "../../lib/with-either.ts";
import type { PodUid } from "../../model/ids.ts";
import { hostKey, parseHostsFile } from "./hosts-file.ts";
import { ParsedFile } from "./parsed-file.ts";
import { parseSearchSettings, searchNames } from "./search-names.ts";

const maxFileBytes = 1024 * 1024;
/** A hook has no time limit of its own. */
const maxLookupMs = 30_000;
/** Two for each of 128 pods: no pod waits because of another's names. */
const maxAtOnce = 256;
const maxAtOncePerPod = 2;
/** Those that wait for their turn included. */
const maxLookupsPerPod = 64;
const maxAddresses = 16;

/** Why a name has no address, in the words of a kubelet. */
export class LookupError extends Error {
  constructor(name: string, reason: string) {
    super(`lookup ${name}: ${reason}`);
  }
}

export interface PodNamesSettings {
  readonly hostsPath: string;
  readonly resolverConfigPath: string;
  /** One per lookup, so that each can be cancelled on its own. */
  readonly newResolver: () => Resolver;
}

const machineSettings: PodNamesSettings = {
  hostsPath: "/etc/hosts",
  resolverConfigPath: "/etc/resolv.conf",
  newResolver: () => new Resolver(),
};

interface PodLookups {
  readonly turns: Semaphore;
  count: number;
}

/** Resolves names for pods: bounded in time, in number for each pod, and in number altogether. */
export class PodNames {
  readonly #newResolver: () => Resolver;
  readonly #hosts: ParsedFile<ReturnType<typeof parseHostsFile>>;
  readonly #search: ParsedFile<ReturnType<typeof parseSearchSettings>>;
  readonly #turns = new Semaphore(maxAtOnce);
  readonly #pods = new Map<PodUid, PodLookups>();

  constructor(settings: PodNamesSettings = machineSettings) {
    this.#newResolver = settings.newResolver;
    this.#hosts = new ParsedFile(settings.hostsPath, maxFileBytes, parseHostsFile);
    this.#search = new ParsedFile(settings.resolverConfigPath, maxFileBytes, (text) =>
      parseSearchSettings(text, hostname()),
    );
  }

  /** For connections of that pod's probes and hooks; a lookup ends when `signal` aborts. */
  lookupFor(podUid: PodUid, signal: AbortSignal): LookupFunction {
    const answer = async (...[name, options, callback]: Parameters<LookupFunction>) => {
      let addresses: readonly LookupAddress[];
      try {
        addresses = await this.resolve(podUid, name, signal);
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)), "");
        return;
      }
      const [first] = addresses;
      if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? "", first?.family);
    };
    return (...call) => void answer(...call);
  }

  /** At least one address; rejects with a LookupError. */
  async resolve(
    podUid: PodUid,
    name: string,
    signal: AbortSignal,
  ): Promise<readonly LookupAddress[]> {
    const known = isIP(name) === 0 ? this.#hosts.read().get(hostKey(name)) : [name];
    if (known !== undefined) return known.slice(0, maxAddresses).map(withFamily);
    const pod = this.#pods.get(podUid) ?? { turns: new Semaphore(maxAtOncePerPod), count: 0 };
    if (pod.count >= maxLookupsPerPod) {
      throw new LookupError(name, `more than ${maxLookupsPerPod} names of this pod at once`);
    }
    this.#pods.set(podUid, pod);
    pod.count++;
    const late = new AbortController();
    const timer = startTimer(maxLookupMs, () => late.abort(noLongerNeeded));
    try {
      return await withEither([signal, late.signal], (either) =>
        this.#resolveInTurn(pod.turns, name, either),
      );
    } finally {
      timer.stop();
      pod.count--;
      if (pod.count === 0) this.#pods.delete(podUid);
    }
  }

  async #resolveInTurn(
    podTurns: Semaphore,
    name: string,
    signal: AbortSignal,
  ): Promise<readonly LookupAddress[]> {
    const leaves: (() => void)[] = [];
    try {
      leaves.push(await podTurns.enter(signal));
      leaves.push(await this.#turns.enter(signal));
      return await this.#ask(name, signal);
    } catch (error) {
      throw signal.aborted ? new LookupError(name, "i/o timeout") : error;
    } finally {
      for (const leave of leaves) leave();
    }
  }

  async #ask(name: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const resolver = this.#newResolver();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    let reason = "no such host";
    try {
      for (const each of searchNames(name, this.#search.read())) {
        const answers = await Promise.allSettled([
          resolver.resolve4(each),
          resolver.resolve6(each),
        ]);
        signal.throwIfAborted();
        const found = answers.flatMap((answer) =>
          answer.status === "fulfilled" ? answer.value : [],
        );
        if (found.length > 0) return found.slice(0, maxAddresses).map(withFamily);
        for (const answer of answers) {
          if (answer.status === "rejected") reason = failureReason(answer.reason) ?? reason;
        }
      }
    } finally {
      signal.removeEventListener("abort", cancel);
    }
    throw new LookupError(name, reason);
  }
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

/** Undefined = the name does not exist, or has no address. */
function failureReason(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "ENOTFOUND":
    case "ENODATA":
    case "EBADNAME":
    case "EBADQUERY":
      return undefined;
    case "ETIMEOUT":
      return "i/o timeout";
    case "ECONNREFUSED":
      return "connection refused";
    default:
      return "server misbehaving";
  }
}
