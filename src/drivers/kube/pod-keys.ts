import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { PodKeys } from "../../ports/pod-certificates.ts";
import { createStubRequest } from "./x509.ts";

const generate = promisify(generateKeyPair);

const generators: Readonly<Record<string, () => Promise<{ readonly privateKey: KeyObject }>>> = {
  RSA3072: () => generate("rsa", { modulusLength: 3072 }),
  RSA4096: () => generate("rsa", { modulusLength: 4096 }),
  ECDSAP256: () => generate("ec", { namedCurve: "P-256" }),
  ECDSAP384: () => generate("ec", { namedCurve: "P-384" }),
  ECDSAP521: () => generate("ec", { namedCurve: "P-521" }),
  ED25519: () => generate("ed25519"),
};

/** Keys of the types that pods may ask for. */
export const podKeys: PodKeys = {
  create: async (keyType) => {
    const generator = Object.hasOwn(generators, keyType) ? generators[keyType] : undefined;
    if (generator === undefined) throw new Error(`unknown key type "${keyType}"`);
    const { privateKey } = await generator();
    return {
      keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      request: createStubRequest(privateKey).toString("base64"),
    };
  },
};
