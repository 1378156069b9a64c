import { lstat, mkdir, open, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { pemBlocks } from "../../lib/pem-blocks.ts";
import type { StoredCertificate } from "../../model/certificate.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { CertificateStore } from "../../ports/certificate-store.ts";
import { describePair } from "./describe-certificate.ts";
import { parseCertificates } from "./key-pair-files.ts";

/** Where certificates of one purpose are kept, as kubelets keep them. */
export interface CertificateFilesOptions {
  readonly folder: string;
  /** Such as kubelet-client. */
  readonly prefix: string;
  /** A pair to begin with, from elsewhere. */
  readonly fallback?: { readonly certFile: string; readonly keyFile: string } | undefined;
}

/** The file that always has the current pair: a link to the file with the time of its issue in its name. */
export function currentFile({ folder, prefix }: CertificateFilesOptions): string {
  return join(resolve(folder), `${prefix}-current.pem`);
}

/** Pairs in files such as kubelet-client-2026-01-31-10-00-00.pem, with a link to the current one. */
export function certificateFiles(options: CertificateFilesOptions): CertificateStore {
  return { read: () => readCurrent(options), write: (pair) => writeCurrent(options, pair) };
}

async function readCurrent(
  options: CertificateFilesOptions,
): Promise<StoredCertificate | undefined> {
  await finishUpdate(options);
  const current = currentFile(options);
  const { folder, prefix, fallback } = options;
  const places = [
    { certFile: current, keyFile: current },
    ...(fallback === undefined ? [] : [fallback]),
    { certFile: join(folder, `${prefix}.crt`), keyFile: join(folder, `${prefix}.key`) },
  ];
  for (const { certFile, keyFile } of places) {
    if (!(await isThere(certFile)) || !(await isThere(keyFile))) continue;
    try {
      return describePair({
        certPem: certificatesOf(await readFile(certFile, "utf8")),
        keyPem: keyOf(await readFile(keyFile, "utf8")),
      });
    } catch (error) {
      throw new Error(`${certFile} cannot be used: ${errorText(error)}`, { cause: error });
    }
  }
  return undefined;
}

async function writeCurrent(
  options: CertificateFilesOptions,
  pair: KeyPair,
): Promise<StoredCertificate> {
  const { folder, prefix } = options;
  const stored = describePair({
    certPem: certificatesOf(pair.certPem),
    keyPem: keyOf(pair.keyPem),
  });
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const path = join(resolve(folder), `${prefix}-${timeStamp(new Date())}.pem`);
  await requireLink(currentFile(options));
  const updated = updatedFile(options);
  await requireLink(updated);
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(`${stored.certPem}${stored.keyPem}`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rm(updated, { force: true });
  await symlink(path, updated);
  await rename(updated, currentFile(options));
  return stored;
}

function updatedFile({ folder, prefix }: CertificateFilesOptions): string {
  return join(resolve(folder), `${prefix}-updated.pem`);
}

/** A kubelet that was killed between its two steps leaves the link to the new pair under another name. */
async function finishUpdate(options: CertificateFilesOptions): Promise<void> {
  const current = currentFile(options);
  const updated = updatedFile(options);
  if ((await isThere(current)) || (await lstat(updated).catch(() => undefined)) === undefined)
    return;
  await requireLink(updated);
  await rename(updated, current);
}

async function requireLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found !== undefined && !found.isSymbolicLink()) {
    throw new Error(`expected "${path}" to be a symlink but it is a file`);
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

function certificatesOf(pem: string): string {
  return parseCertificates(pem)
    .map((certificate) => certificate.toString())
    .join("");
}

const keyLabels = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"];

function keyOf(pem: string): string {
  const [block] = keyLabels.flatMap((label) => pemBlocks(pem, label));
  if (block === undefined) throw new Error("there is no private key in it");
  return `${block}\n`;
}

/** In local time, as kubelets name their files. */
function timeStamp(date: Date): string {
  const parts = [
    date.getMonth() + 1,
    date.getDate(),
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
  ];
  return [date.getFullYear(), ...parts.map((part) => String(part).padStart(2, "0"))].join("-");
}
