import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { err, ok } from "../../lib/result.ts";
import type { Secret } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvent } from "../../ports/pod-events.ts";
import { PullCredentials } from "./pull-credentials.ts";

function secret(name: string, address: string, username: string): Secret {
  const config = JSON.stringify({ auths: { [address]: { username, password: "p" } } });
  return {
    metadata: { name, namespace: "ns" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(config).toString("base64") },
  };
}

function world(secrets: readonly Secret[]) {
  const events: PodEvent[] = [];
  const credentials = new PullCredentials(
    {
      secret: (namespace, wanted) => {
        const found = secrets.find(({ metadata }) => metadata?.name === wanted);
        const message = `secret "${wanted}" not found`;
        return found !== undefined && namespace === "ns"
          ? ok(found)
          : err({ code: "not-found", message });
      },
    },
    { record: (_pod, event) => events.push(event) },
    ["node", "provided"].map((username) => ({
      logins: async () => [{ address: "a.io", username, password: "p" }],
    })),
    (text) => `digest of ${text}`,
  );
  return { events, credentials };
}

function pod(...names: readonly string[]): Pod {
  const imagePullSecrets = names.map((name) => ({ name }));
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "u" },
    spec: { containers: [], imagePullSecrets },
  });
}

const { signal } = new AbortController();

test("logins of pull secrets come before those of the node and of providers, and only those that fit", async () => {
  const secrets = [secret("one", "a.io", "one"), secret("two", "b.io", "two")];
  const { events, credentials } = world(secrets);
  const found = await credentials.of(pod("two", "one", "")).find("a.io/x", signal);
  expect(found).toEqual({
    ok: true,
    value: [
      {
        auth: { username: "one", password: "p" },
        secret: {
          uid: "",
          namespace: "ns",
          name: "one",
          credentialHash: 'digest of {"username":"one","password":"p"}',
        },
      },
      { auth: { username: "node", password: "p" } },
      { auth: { username: "provided", password: "p" } },
    ],
  });
  expect(events).toEqual([]);
});

test("missing pull secrets are reported for the pod, and the others are tried", async () => {
  const { events, credentials } = world([secret("one", "a.io", "one")]);
  const found = await credentials.of(pod("gone", "one", "lost")).find("a.io/x", signal);
  expect(found).toMatchObject({ ok: true, value: [{ auth: { username: "one" } }, {}, {}] });
  expect(events).toEqual([
    {
      type: "Warning",
      reason: "FailedToRetrieveImagePullSecret",
      message:
        "Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.",
    },
  ]);
});

test("a secret that cannot be read is named", async () => {
  const type = "kubernetes.io/dockercfg";
  const broken = { metadata: { name: "bad" }, type, data: { ".dockercfg": "e30=".slice(1) } };
  const { credentials } = world([broken]);
  expect(await credentials.of(pod("bad")).find("a.io/x", signal)).toEqual({
    ok: false,
    error: 'image pull secret "bad": its .dockercfg is not a JSON object',
  });
});

test("the version changes with the secrets", () => {
  const before = world([secret("one", "a.io", "one")]).credentials.of(pod("one"));
  const after = world([secret("one", "a.io", "other")]).credentials.of(pod("one"));
  expect(after.version).not.toBe(before.version);
});
