import {
  dependsOnPod,
  type ImageAccess,
  type PullAccount,
  type PulledRecord,
  parsePulledRecord,
  parsePullIntent,
  proveAccess,
  pulledRecordText,
  pullIntentText,
  recordPull,
  type SecretLogin,
  type ShownCredentials,
} from "../../core/image/pull-record.ts";
import { mustVerify, type VerificationPolicy } from "../../core/image/verification-policy.ts";
import { errorText } from "../../lib/error-text.ts";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import type { Image } from "../../model/generated/cri.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface PullRecordsDeps {
  readonly policy: VerificationPolicy;
  readonly files: HostFiles;
  /** A kubelet's image_manager folder. */
  readonly folder: string;
  /** Hexadecimal. */
  readonly sha256: (text: string) => string;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What came of the question whether a pod may use an image, as the metric names it. */
type CheckResult =
  | "credentialPolicyAllowed"
  | "credentialRecordFound"
  | "mustAuthenticate"
  | "error";

/** By what an image was pulled; without either every pod of the node could have pulled it. */
interface PulledBy {
  readonly secret?: SecretLogin | undefined;
  readonly account?: PullAccount | undefined;
}

const folderMode = 0o700;
const fileMode = 0o600;
const nothing: ShownCredentials = { secrets: [] };
const isRecord = /^sha256-[0-9a-f]+$/;

/**
 * Remembers on disk which images were pulled here, with which secrets and for which service accounts, so that a pod cannot use what another
 * one pulled by a login that it does not have itself. For which images that counts is the policy's.
 */
export class PullRecords {
  readonly #deps: PullRecordsDeps;
  /** How many pulls of an image are under way. */
  readonly #intents = new Map<string, number>();
  /** The files that are there: looking for them with every container that starts would take its time. */
  readonly #files = { pulling: new Set<string>(), pulled: new Set<string>() };
  #areFilesKnown = false;
  readonly #turns = new KeyedTurns();

  constructor(deps: PullRecordsDeps) {
    this.#deps = deps;
  }

  /** Takes up the pulls that an agent before this one did not see the end of: what has arrived must be proven. */
  recover(listImages: () => Promise<readonly Image[]>): Promise<void> {
    return this.#turns.run("records", async () => {
      try {
        const { files, folder } = this.#deps;
        for (const kind of ["pulling", "pulled"] as const) {
          for (const name of await files.list(`${folder}/${kind}`)) this.#noteFile(kind, name);
        }
        this.#areFilesKnown = true;
        const intents = await this.#readIntents();
        const images = intents.length === 0 ? [] : await listImages();
        for (const image of intents) {
          const arrived = images.find(({ repoTags = [], repoDigests = [] }) =>
            [...repoTags, ...repoDigests].includes(image),
          );
          if (arrived?.id === undefined) continue;
          await this.#record(image, arrived.id, undefined);
          await this.#removeIntent(image);
        }
      } catch (error) {
        this.#deps.log.warn("cannot take up earlier pulls", { error: errorText(error) });
      }
    });
  }

  /** A pull begins: until it is recorded as pulled, no pod uses the image unproven. Rejects when that cannot be kept. */
  begin(image: string): Promise<void> {
    return this.#turns.run("records", async () => {
      this.#intents.set(image, (this.#intents.get(image) ?? 0) + 1);
      await this.#deps.files.ensureFolder(`${this.#deps.folder}/pulling`, folderMode);
      await this.#deps.files.writeFile(this.#pulling(image), pullIntentText(image), fileMode);
      this.#noteFile("pulling", this.#nameOf(image));
    });
  }

  /** A pull has ended; `imageRef` when it succeeded. */
  end(
    image: string,
    pulled: (PulledBy & { readonly imageRef: string }) | undefined,
  ): Promise<void> {
    return this.#turns.run("records", async () => {
      try {
        if (pulled !== undefined) {
          await this.#record(image, pulled.imageRef, accessBy(pulled));
        }
        const left = (this.#intents.get(image) ?? 1) - 1;
        if (left > 0) {
          this.#intents.set(image, left);
          return;
        }
        await this.#removeIntent(image);
        this.#intents.delete(image);
      } catch (error) {
        // The intent stays: the image counts as pulled with unknown credentials, and must be proven.
        this.#warn(image, error);
      }
    });
  }

  /**
   * Whether an image that is there must be pulled again by this pod, to prove that it may have it. What the pod can show is asked
   * for only where it matters, and holds up no other image: it may take a credential provider's time.
   */
  async mustProve(
    image: string,
    imageRef: string,
    show: () => Promise<ShownCredentials>,
  ): Promise<boolean> {
    const result = await this.#check(image, imageRef, show).catch((error: unknown) => {
      const fields = { image, error: errorText(error) };
      this.#deps.log.warn("cannot check whether a pod may use an image", fields);
      return "error" as const;
    });
    this.#deps.metrics.increment("kubelet_imagemanager_image_mustpull_checks_total", { result });
    return result === "mustAuthenticate" || result === "error";
  }

  async #check(
    image: string,
    imageRef: string,
    show: () => Promise<ShownCredentials>,
  ): Promise<CheckResult> {
    const { record, wasPulledHere } = await this.#turns.run("records", async () => {
      const found = await this.#read(imageRef);
      return {
        record: found,
        wasPulledHere: found !== undefined || (await this.#isBeingPulled(image)),
      };
    });
    if (!mustVerify(this.#deps.policy, image, wasPulledHere)) return "credentialPolicyAllowed";
    const proof = proveAccess(record, image, dependsOnPod(record, image) ? await show() : nothing);
    if (proof.kind === "must-pull") return "mustAuthenticate";
    if ("learnt" in proof) {
      const access = accessBy({ secret: proof.learnt });
      await this.#turns.run("records", () => this.#record(image, imageRef, access));
    }
    return "credentialRecordFound";
  }

  async #readIntents(): Promise<readonly string[]> {
    const { files, folder } = this.#deps;
    const names = [...this.#files.pulling];
    const texts = await Promise.all(
      names.map((name) => files.readText(`${folder}/pulling/${name}`)),
    );
    return texts.map((text) => parsePullIntent(text ?? "")).filter((image) => image !== undefined);
  }

  async #isBeingPulled(image: string): Promise<boolean> {
    if ((this.#intents.get(image) ?? 0) > 0) return true;
    if (!this.#mayHave("pulling", image)) return false;
    const text = await this.#deps.files.readText(this.#pulling(image));
    return text !== undefined && parsePullIntent(text) === image;
  }

  async #read(imageRef: string): Promise<PulledRecord | undefined> {
    if (!this.#mayHave("pulled", imageRef)) return undefined;
    const text = await this.#deps.files.readText(this.#pulled(imageRef));
    if (text === undefined) return undefined;
    const record = parsePulledRecord(text);
    if (record === undefined) throw new Error(`${this.#pulled(imageRef)} is damaged`);
    return record.imageRef === imageRef ? record : undefined;
  }

  async #record(image: string, imageRef: string, access: ImageAccess | undefined): Promise<void> {
    const { files, folder, clock } = this.#deps;
    const before = await this.#read(imageRef).catch(() => undefined);
    const record = recordPull(before, { image, imageRef }, access, clock.nowMs());
    if (record === undefined) return;
    await files.ensureFolder(`${folder}/pulled`, folderMode);
    await files.writeFile(this.#pulled(imageRef), pulledRecordText(record), fileMode);
    this.#noteFile("pulled", this.#nameOf(imageRef));
  }

  async #removeIntent(image: string): Promise<void> {
    await this.#deps.files.removeFile(this.#pulling(image));
    this.#files.pulling.delete(this.#nameOf(image));
    this.#reportCounts();
  }

  #mayHave(kind: "pulling" | "pulled", subject: string): boolean {
    return !this.#areFilesKnown || this.#files[kind].has(this.#nameOf(subject));
  }

  #noteFile(kind: "pulling" | "pulled", name: string): void {
    if (!isRecord.test(name)) return;
    this.#files[kind].add(name);
    this.#reportCounts();
  }

  #reportCounts(): void {
    const { pulling, pulled } = this.#files;
    this.#deps.metrics.set("kubelet_imagemanager_ondisk_pullintents", pulling.size);
    this.#deps.metrics.set("kubelet_imagemanager_ondisk_pulledrecords", pulled.size);
  }

  #nameOf(subject: string): string {
    return `sha256-${this.#deps.sha256(subject)}`;
  }

  #pulling(image: string): string {
    return `${this.#deps.folder}/pulling/${this.#nameOf(image)}`;
  }

  #pulled(imageRef: string): string {
    return `${this.#deps.folder}/pulled/${this.#nameOf(imageRef)}`;
  }

  #warn(image: string, error: unknown): void {
    this.#deps.log.warn("cannot keep the record of a pull", { image, error: errorText(error) });
  }
}

/** In the folder of a kubelet; undefined where pulls are not recorded. */
export function createPullRecords(
  deps: Omit<PullRecordsDeps, "policy" | "folder"> & {
    readonly rootFolder: string;
    readonly settings: {
      readonly images: { readonly verification: VerificationPolicy | undefined };
    };
  },
): PullRecords | undefined {
  const policy = deps.settings.images.verification;
  if (policy === undefined) return undefined;
  return new PullRecords({ ...deps, policy, folder: `${deps.rootFolder}/image_manager` });
}

function accessBy({ secret, account }: PulledBy): ImageAccess {
  if (secret !== undefined) return { kubernetesSecrets: [secret] };
  return account === undefined
    ? { nodePodsAccessible: true }
    : { kubernetesServiceAccounts: [account] };
}
