import { createPrivateKey } from "node:crypto";
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestAuthority, type TestAuthority } from "../../../test/kit/test-authority.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import { certificateFiles, currentFile } from "./certificate-files.ts";
import { certificateRequests } from "./certificate-requests.ts";

let authority: TestAuthority;
let pair: KeyPair;
let folder: string;

beforeAll(() => {
  authority = createTestAuthority();
  pair = authority.issue("/O=system:nodes/CN=system:node:a");
});
afterAll(() => authority.remove());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-certificates-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const options = (): { readonly folder: string; readonly prefix: string } => ({
  folder,
  prefix: "kubelet-client",
});

test("a pair is kept in one file of its owner with the current link on it, and read again", async () => {
  const store = certificateFiles(options());
  expect(await store.read()).toBeUndefined();
  const written = await store.write({ ...pair, certPem: `${pair.certPem}${authority.caPem}` });
  const link = currentFile(options());
  expect(readlinkSync(link)).toMatch(/\/kubelet-client-\d{4}(-\d\d){5}\.pem$/);
  expect(statSync(link).mode & 0o777).toBe(0o600);
  expect(readFileSync(link, "utf8").match(/-----BEGIN [A-Z ]+-----/g)).toEqual([
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PRIVATE KEY-----",
  ]);
  const read = await store.read();
  expect(read).toEqual(written);
  expect(read?.subject).toEqual({
    commonName: "system:node:a",
    organizations: ["system:nodes"],
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
  });
  const lifeMs = (read?.notAfterMs ?? 0) - (read?.notBeforeMs ?? 0);
  expect(lifeMs).toBe(86_400_000);
});

test("what another kubelet left behind is used: a pair from elsewhere, or an update that was cut off", async () => {
  const certFile = join(folder, "elsewhere.crt");
  const keyFile = join(folder, "elsewhere.key");
  writeFileSync(certFile, pair.certPem);
  const store = certificateFiles({ ...options(), fallback: { certFile, keyFile } });
  expect(await store.read()).toBeUndefined();
  writeFileSync(keyFile, pair.keyPem);
  expect((await store.read())?.certPem).toBe(pair.certPem);
  const other = authority.issue("/CN=other");
  await store.write(other);
  renameSync(currentFile(options()), join(folder, "kubelet-client-updated.pem"));
  expect((await store.read())?.certPem).toBe(other.certPem);
  expect(readdirSync(folder)).not.toContain("kubelet-client-updated.pem");
});

test("a pair that does not belong together is not written", async () => {
  const store = certificateFiles(options());
  const { keyPem } = authority.issue("/CN=other");
  await expect(store.write({ ...pair, keyPem })).rejects.toThrow("does not belong");
  await expect(store.write({ ...pair, certPem: "" })).rejects.toThrow("no certificate");
  await expect(store.write({ ...pair, keyPem: "" })).rejects.toThrow("no private key");
  expect(readdirSync(folder)).toEqual([]);
});

test("a damaged file is reported by its name, and a file where the link should be is left alone", async () => {
  const link = currentFile(options());
  writeFileSync(link, "damaged");
  const store = certificateFiles(options());
  await expect(store.read()).rejects.toThrow(`${link} cannot be used: there is no certificate`);
  await expect(store.write(pair)).rejects.toThrow("to be a symlink but it is a file");
  expect(lstatSync(link).isFile()).toBe(true);
  rmSync(link);
  symlinkSync("gone.pem", link);
  expect(await store.read()).toBeUndefined();
  await store.write(pair);
  expect((await store.read())?.certPem).toBe(pair.certPem);
});

test("a request for a certificate is one that others can read, sign and that fits its key", async () => {
  const template = {
    commonName: "system:node:grün",
    organizations: ["system:nodes"],
    dnsNames: ["node.example"],
    ipAddresses: ["10.0.0.1", "2001:db8::1"],
  };
  const { csrPem, keyPem } = await certificateRequests.create(template);
  expect(createPrivateKey(keyPem).asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
  expect(keyPem).toMatch(/^-----BEGIN EC PRIVATE KEY-----/);
  const stored = await certificateFiles(options()).write({
    certPem: authority.sign(csrPem),
    keyPem,
  });
  expect(stored.subject).toEqual(template);
});
