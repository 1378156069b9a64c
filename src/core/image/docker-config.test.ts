import { expect, test } from "vitest";
import { secretLogins } from "./docker-config.ts";

const canary = "canary-5f1c";

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function dockerConfigJson(text: string) {
  const data = { ".dockerconfigjson": base64(text) };
  return secretLogins({ type: "kubernetes.io/dockerconfigjson", data });
}

test("a dockerconfigjson secret has its logins below auths", () => {
  const auths = {
    "registry.io": { username: "u", password: "p", email: "e" },
    "other.io": { auth: base64("user:pass:word"), username: "ignored" },
    "empty.io": null,
  };
  expect(dockerConfigJson(JSON.stringify({ auths, HttpHeaders: {} }))).toEqual({
    ok: true,
    value: [
      { address: "registry.io", username: "u", password: "p", email: "e" },
      { address: "other.io", username: "user", password: "pass:word" },
      { address: "empty.io", username: "", password: "" },
    ],
  });
});

test("a dockercfg secret has its logins at the top", () => {
  const text = JSON.stringify({ "registry.io": { Auth: base64("u:pp").replace(/=+$/, "") } });
  const data = { ".dockercfg": base64(text) };
  expect(secretLogins({ type: "kubernetes.io/dockercfg", data })).toEqual({
    ok: true,
    value: [{ address: "registry.io", username: "u", password: "pp" }],
  });
});

test("a secret of another type or without content has no logins", () => {
  const data = { ".dockerconfigjson": base64('{"auths":{"a.io":{}}}') };
  for (const secret of [
    { type: "Opaque", data },
    { data },
    { type: "kubernetes.io/dockercfg", data },
  ]) {
    expect(secretLogins(secret)).toEqual({ ok: true, value: [] });
  }
  expect(dockerConfigJson("{}")).toEqual({ ok: true, value: [] });
});

test.each([
  `{"auths": ${canary}`,
  `"${canary}"`,
  `{"auths": "${canary}"}`,
  `{"auths": {"a.io": "${canary}"}}`,
  `{"auths": {"a.io": {"password": ["${canary}"]}}}`,
  `{"auths": {"a.io": {"auth": "${canary}!"}}}`,
  `{"auths": {"a.io": {"auth": "${base64(canary)}"}}}`,
])("a broken secret is refused without a word of its content: %s", (text) => {
  const logins = dockerConfigJson(text);
  expect(logins.ok).toBe(false);
  expect(JSON.stringify(logins)).not.toContain(canary);
  expect(JSON.stringify(logins)).not.toContain(base64(canary));
});
