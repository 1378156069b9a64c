import { spawnSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { expect, test } from "vitest";
import { podKeys } from "./pod-keys.ts";

/** The request as openssl prints it, which verifies its signature. */
function inspect(request: string): string {
  const options = ["req", "-inform", "DER", "-verify", "-noout", "-text", "-pubkey"];
  const input = Buffer.from(request, "base64");
  const { stdout, stderr } = spawnSync("openssl", options, { input, encoding: "utf8" });
  // Its exit status does not say whether the signature is right.
  expect(stderr).toContain("verify OK");
  return stdout;
}

test.each([
  ["RSA3072", "sha256WithRSAEncryption"],
  ["RSA4096", "sha256WithRSAEncryption"],
  ["ECDSAP256", "ecdsa-with-SHA256"],
  ["ECDSAP384", "ecdsa-with-SHA384"],
  ["ECDSAP521", "ecdsa-with-SHA512"],
  ["ED25519", "ED25519"],
])("a key of type %s signs a request without a subject with %s", async (keyType, algorithm) => {
  const { keyPem, request } = await podKeys.create(keyType);
  expect(keyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  const text = inspect(request);
  expect(text).toMatch(/Subject: *\n/);
  expect(text).toContain(`Signature Algorithm: ${algorithm}\n`);
  const publicKey = createPublicKey(createPrivateKey(keyPem));
  expect(text).toContain(publicKey.export({ format: "pem", type: "spki" }).toString());
});

test("a key is as long as its type says", async () => {
  const { keyPem } = await podKeys.create("RSA3072");
  expect(createPrivateKey(keyPem).asymmetricKeyDetails?.modulusLength).toBe(3072);
});

test("a type that does not exist is refused by name", async () => {
  await expect(podKeys.create("toString")).rejects.toThrow('unknown key type "toString"');
});
