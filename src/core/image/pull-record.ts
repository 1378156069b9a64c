// What is known of images that were pulled here: with which secrets, and for which service accounts. A pod that shows none of
// them must prove to the registry that it may have the image. The files are a kubelet's own.
import { jsonText } from "../../lib/go-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { formatTime } from "../../lib/time.ts";

const apiVersion = "kubelet.config.k8s.io/v1beta1";
/** Beyond that many a record learns of no further secrets by itself. */
const maxLearntSecrets = 100;

/** A secret by its place, with a digest of the login in it that fits the image. */
export interface SecretLogin {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}

/** A service account in whose name a credential provider gave a login. */
export interface PullAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** What a pod has to show for an image. */
export interface ShownCredentials {
  readonly secrets: readonly SecretLogin[];
  readonly account?: PullAccount | undefined;
}

/** Who may use an image without asking the registry. */
export interface ImageAccess {
  readonly kubernetesSecrets?: readonly SecretLogin[] | undefined;
  readonly kubernetesServiceAccounts?: readonly PullAccount[] | undefined;
  /** Every pod of the node: the pull needed no secret. */
  readonly nodePodsAccessible?: boolean | undefined;
}

export interface PulledRecord {
  readonly lastUpdatedTime: string;
  /** The runtime's reference. */
  readonly imageRef: string;
  /** By the image's name without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, ImageAccess>>;
}

export function pullIntentText(image: string): string {
  return `${JSON.stringify({ kind: "ImagePullIntent", apiVersion, image })}\n`;
}

/** The image of an intent; undefined when the text is not an intent. */
export function parsePullIntent(text: string): string | undefined {
  const { kind, image } = parseObject(text);
  return kind === "ImagePullIntent" && typeof image === "string" ? image : undefined;
}

export function pulledRecordText(record: PulledRecord): string {
  return `${JSON.stringify({ kind: "ImagePulledRecord", apiVersion, ...record })}\n`;
}

/** Undefined when the text is not a record. */
export function parsePulledRecord(text: string): PulledRecord | undefined {
  const { kind, lastUpdatedTime, imageRef, credentialMapping = {} } = parseObject(text);
  if (kind !== "ImagePulledRecord" || typeof imageRef !== "string") return undefined;
  if (typeof credentialMapping !== "object" || credentialMapping === null) return undefined;
  return {
    lastUpdatedTime: typeof lastUpdatedTime === "string" ? lastUpdatedTime : "",
    imageRef,
    // Written by a kubelet or by the function above.
    credentialMapping: credentialMapping as PulledRecord["credentialMapping"],
  };
}

/** The record after a pull with that access; undefined when it says so already. Without access it is only known as pulled. */
export function recordPull(
  record: PulledRecord | undefined,
  { image, imageRef }: { readonly image: string; readonly imageRef: string },
  access: ImageAccess | undefined,
  nowMs: number,
): PulledRecord | undefined {
  const lastUpdatedTime = formatTime(nowMs);
  const { credentialMapping = {} } = record ?? {};
  const name = imageWithoutTag(image);
  const known = Object.hasOwn(credentialMapping, name) ? credentialMapping[name] : undefined;
  const merged = access === undefined ? undefined : mergeAccess(known, access);
  if (record !== undefined && merged === undefined) return undefined;
  const added = merged === undefined ? {} : { [name]: merged };
  return { lastUpdatedTime, imageRef, credentialMapping: { ...credentialMapping, ...added } };
}

export type ImageProof =
  | { readonly kind: "must-pull" }
  | { readonly kind: "may-use" }
  /** By a secret that the record does not have in this form: it is worth being added. */
  | { readonly kind: "may-use"; readonly learnt: SecretLogin };

/** Whether it depends on what a pod can show. */
export function dependsOnPod(record: PulledRecord | undefined, image: string): boolean {
  const access = accessTo(record, image);
  if (access === undefined || access.nodePodsAccessible === true) return false;
  const { kubernetesSecrets: secrets = [], kubernetesServiceAccounts: accounts = [] } = access;
  return secrets.length > 0 || accounts.length > 0;
}

/** Whether who shows this may use an image that was pulled here. */
export function proveAccess(
  record: PulledRecord | undefined,
  image: string,
  { secrets, account }: ShownCredentials,
): ImageProof {
  const access = accessTo(record, image);
  if (access === undefined) return { kind: "must-pull" };
  if (access.nodePodsAccessible === true) return { kind: "may-use" };
  const { kubernetesSecrets: known = [], kubernetesServiceAccounts: accounts = [] } = access;
  const mayLearn = known.length < maxLearntSecrets;
  for (const secret of secrets) {
    for (const each of known) {
      const sameLogin = each.credentialHash !== "" && each.credentialHash === secret.credentialHash;
      const samePlace = placeOf(each) === placeOf(secret);
      if (sameLogin && (samePlace || !mayLearn)) return { kind: "may-use" };
      if (mayLearn && (sameLogin || samePlace)) return { kind: "may-use", learnt: secret };
    }
  }
  const mayUse = account !== undefined && accounts.some((each) => isSame(each, account));
  return mayUse ? { kind: "may-use" } : { kind: "must-pull" };
}

function accessTo(record: PulledRecord | undefined, image: string): ImageAccess | undefined {
  const name = imageWithoutTag(image);
  const mapping = record?.credentialMapping ?? {};
  return Object.hasOwn(mapping, name) ? mapping[name] : undefined;
}

/** Undefined when nothing is new. */
function mergeAccess(known: ImageAccess | undefined, added: ImageAccess): ImageAccess | undefined {
  const { kubernetesSecrets: secrets = [], kubernetesServiceAccounts: accounts = [] } = added;
  const { nodePodsAccessible = false } = added;
  if (!nodePodsAccessible && secrets.length === 0 && accounts.length === 0) return undefined;
  if (known === undefined) return added;
  if (known.nodePodsAccessible === true) return undefined;
  if (nodePodsAccessible) return { nodePodsAccessible };
  return secrets.length > 0 ? withSecrets(known, secrets) : withAccounts(known, accounts);
}

function withSecrets(known: ImageAccess, secrets: readonly SecretLogin[]): ImageAccess | undefined {
  const byPlace = new Map((known.kubernetesSecrets ?? []).map((each) => [placeOf(each), each]));
  const isNew = secrets.some(
    (each) => byPlace.get(placeOf(each))?.credentialHash !== each.credentialHash,
  );
  if (!isNew) return undefined;
  for (const each of secrets) byPlace.set(placeOf(each), each);
  const { kubernetesServiceAccounts } = known;
  return { kubernetesSecrets: inOrder(byPlace), kubernetesServiceAccounts };
}

function withAccounts(
  known: ImageAccess,
  accounts: readonly PullAccount[],
): ImageAccess | undefined {
  const { kubernetesServiceAccounts: before = [], kubernetesSecrets } = known;
  if (accounts.every((account) => before.some((each) => isSame(each, account)))) return undefined;
  const byPlace = new Map([...before, ...accounts].map((each) => [placeOf(each), each]));
  return { kubernetesSecrets, kubernetesServiceAccounts: inOrder(byPlace) };
}

function inOrder<Value>(byPlace: ReadonlyMap<string, Value>): readonly Value[] {
  return [...byPlace].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function isSame(a: PullAccount, b: PullAccount): boolean {
  return placeOf(a) === placeOf(b);
}

/** No name of an object has a space in it. */
function placeOf({ namespace, name, uid }: PullAccount): string {
  return `${namespace} ${name} ${uid}`;
}

export function imageWithoutTag(image: string): string {
  return image.replace(/@[^@/]*$/, "").replace(/:[^:/]*$/, "");
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** What the digest of a login is made of: equal for equal logins of kubelets as well. */
export function loginText(login: {
  readonly username: string;
  readonly password: string;
  readonly email?: string | undefined;
}): string {
  const fields = (["username", "password", "email"] as const)
    .filter((name) => (login[name] ?? "") !== "")
    .map((name) => `"${name}":${jsonText(login[name])}`);
  return `{${fields.join(",")}}`;
}
