import { expect, test } from "vitest";
import { decodeKubeconfig } from "./decode-kubeconfig.ts";

const cluster = { server: "https://10.0.0.1:6443" };

function file(parts: { readonly cluster?: unknown; readonly user?: unknown }): unknown {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    contexts: [
      { name: "other", context: { cluster: "none", user: "none" } },
      { name: "here", context: { cluster: "c", user: "u", namespace: "default" } },
    ],
    clusters: [{ name: "c", cluster: parts.cluster ?? cluster }],
    users: [
      { name: "other", user: { "auth-provider": { name: "gone" } } },
      { name: "u", user: parts.user ?? {} },
    ],
    preferences: { colors: true },
  };
}

function decoded(value: unknown): unknown {
  const result = decodeKubeconfig(value, "/etc/kube");
  return result.ok ? result.value : result.error;
}

test("the current context is taken, relative paths count from the file's folder", () => {
  const user = {
    "client-certificate": "pki/../a.crt",
    "client-key-data": "a2V5",
    tokenFile: "/var/token",
  };
  const full = { ...cluster, "certificate-authority": "ca.crt", "tls-server-name": "api" };
  expect(decoded(file({ cluster: full, user }))).toEqual({
    cluster: {
      server: "https://10.0.0.1:6443",
      tlsServerName: "api",
      skipVerification: false,
      authority: { kind: "file", path: "/etc/kube/ca.crt" },
    },
    user: {
      certificate: {
        cert: { kind: "file", path: "/etc/kube/a.crt" },
        key: { kind: "data", pem: "key" },
      },
      tokenFile: "/var/token",
    },
  });
});

test("an exec plugin is taken with all that it is given", () => {
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "./login",
    args: ["--node", "a b"],
    env: [{ name: "HOME", value: "/root" }],
    interactiveMode: "Never",
    provideClusterInfo: true,
  };
  expect(decoded(file({ user: { exec } }))).toMatchObject({
    user: {
      exec: {
        command: "/etc/kube/login",
        args: ["--node", "a b"],
        env: { HOME: "/root" },
        provideClusterInfo: true,
      },
    },
  });
});

test.each([
  [{ "auth-provider": { name: "x" } }, "users[1].user.auth-provider is not supported"],
  [{ "client-certificate": "a" }, "users[1].user.client-key is not set"],
  [{ "client-key-data": "§" }, "users[1].user.client-key-data is not base64"],
  [{ token: 5 }, "users[1].user.token is not a string"],
  [{ token: "a", username: "b" }, "users[1].user.token is set beside a username"],
  [{ "as-groups": ["g"] }, "users[1].user.as is not set"],
  [{ "as-groups": "g" }, "users[1].user.as-groups is not a list"],
  [{ exec: {} }, "users[1].user.exec.command is not set"],
  [{ exec: { command: "a", apiVersion: "v1" } }, 'users[1].user.exec.apiVersion is "v1"'],
  ["text", "users[1].user is not a map"],
])("an unusable user is reported with its field: %j", (user, message) => {
  expect(decoded(file({ user }))).toContain(message);
});

test.each([
  ["Always", "client.authentication.k8s.io/v1beta1", "a node has no terminal"],
  [undefined, "client.authentication.k8s.io/v1", 'interactiveMode is ""'],
])("an exec plugin of mode %s and %s is refused", (interactiveMode, apiVersion, message) => {
  const exec = { command: "a", apiVersion, interactiveMode };
  expect(decoded(file({ user: { exec } }))).toContain(message);
});

test.each([
  [{}, "clusters[0].cluster.server is not set"],
  [{ ...cluster, "proxy-url": "http://p" }, "clusters[0].cluster.proxy-url is not supported"],
  [
    { ...cluster, "certificate-authority": "a", "certificate-authority-data": "YQ==" },
    "is set beside certificate-authority-data",
  ],
  [
    { ...cluster, "certificate-authority": "a", "insecure-skip-tls-verify": true },
    "is set beside a certificate authority",
  ],
  [{ ...cluster, "insecure-skip-tls-verify": "yes" }, "is not true or false"],
])("an unusable cluster is reported with its field: %j", (broken, message) => {
  expect(decoded(file({ cluster: broken }))).toContain(message);
});

test.each([
  [[], "the document is not a map"],
  [null, "current-context is not set"],
  [{ "current-context": "x" }, 'contexts has none that is named "x"'],
  [{ "current-context": "x", contexts: {} }, "contexts is not a list"],
])("a file that is not a kubeconfig is refused: %j", (value, message) => {
  expect(decoded(value)).toBe(message);
});
