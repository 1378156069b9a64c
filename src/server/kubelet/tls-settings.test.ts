import { getCiphers } from "node:tls";
import { expect, test } from "vitest";
import { cipherList, curveList, minTlsVersion } from "./tls-settings.ts";

const suites = [
  "TLS_RSA_WITH_AES_128_CBC_SHA",
  "TLS_RSA_WITH_AES_256_CBC_SHA",
  "TLS_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_RSA_WITH_AES_128_CBC_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
];

test.each(suites)("OpenSSL knows what is made of %s", (suite) => {
  expect(getCiphers()).toContain(cipherList([suite]).toLowerCase());
});

test("suites of TLS 1.3 cannot be chosen, and without any the strong ones count", () => {
  const strong = cipherList([]);
  expect(cipherList(["TLS_AES_128_GCM_SHA256"])).toBe(strong);
  expect(strong).not.toMatch(/CBC|SHA(?::|$)/);
  for (const suite of strong.split(":")) expect(getCiphers()).toContain(suite.toLowerCase());
});

test("versions and curves go by the configuration's names", () => {
  expect([minTlsVersion(""), minTlsVersion("VersionTLS13")]).toEqual(["TLSv1.2", "TLSv1.3"]);
  expect([curveList([]), curveList([29, 23, 4588])]).toEqual([undefined, "X25519:prime256v1"]);
});
